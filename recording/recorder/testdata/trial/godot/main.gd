extends Spatial
# Ends after a few frames, and saves the last one as the picture that is compared.
var frames = 0
func _process(_delta):
	frames += 1
	if frames == 5:
		yield(VisualServer, "frame_post_draw")
		get_viewport().get_texture().get_data().save_png(OS.get_environment("RESULT"))
		get_tree().quit()
