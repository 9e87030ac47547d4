"""`python -m burn_wgpu`: the command line."""

import sys

from burn_wgpu.cli import main

sys.exit(main())
