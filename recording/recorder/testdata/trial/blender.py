# Draws Blender's first scene with Eevee, and ends.
import os

import bpy

scene = bpy.context.scene
scene.render.engine = "BLENDER_EEVEE"
scene.render.resolution_x = scene.render.resolution_y = 32
scene.eevee.taa_render_samples = 1
scene.render.filepath = os.environ["RESULT"] + ".png"
scene.render.use_stamp = False


def draw():
    bpy.ops.render.render()
    with open(os.environ["RESULT"], "w") as result:
        image = bpy.data.images["Render Result"]
        image.save_render(scene.render.filepath)
        result.write(str(list(bpy.data.images.load(scene.render.filepath).pixels)))
    bpy.ops.wm.quit_blender()


bpy.app.timers.register(draw, first_interval=0.5)
