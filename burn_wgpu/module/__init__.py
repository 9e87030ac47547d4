"""Modules: trees of named parameters.

May import: tensor and everything below. A layer is a subclass of `Module` whose attributes are `Param`s, other modules,
lists and tuples of them, and plain settings; nothing is registered, the tree is read off the attributes.
Rejected: metaclasses and decorators that rewrite a class; hidden registries that disagree with the attributes.
"""

from burn_wgpu.module.initializer import Initializer
from burn_wgpu.module.module import Module
from burn_wgpu.module.param import Param, ParamId

__all__ = ["Initializer", "Module", "Param", "ParamId"]
