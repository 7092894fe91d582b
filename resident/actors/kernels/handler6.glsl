// handler6.glsl: left out where there are fewer kinds of actors, otherwise
// replaced by the user's, as handler0.glsl is.
