"""Weights in files: readers and writers of formats, conversion, and loading onto a device.

May import: module and everything below. One file a format; each yields and accepts (name, dtype, shape, bytes).
"""
