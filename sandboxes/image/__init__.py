"""The image agents run in: its recipe as packaged data, and the ways to get it onto a machine.

`ensure_image` is the one to call; the image's digest, not its tag, is what an attempt's record holds.
"""

from sandboxes.image.debootstrap import ImageError
from sandboxes.image.image import ImageFacts, ensure_image, image_status
from sandboxes.image.recipe import SANDBOX_IMAGE, recipe_hash
from sandboxes.image.rootfs import RootfsFacts, ensure_rootfs, rootfs_status

__all__ = [
    "SANDBOX_IMAGE",
    "ImageError",
    "ImageFacts",
    "RootfsFacts",
    "ensure_image",
    "ensure_rootfs",
    "image_status",
    "recipe_hash",
    "rootfs_status",
]
