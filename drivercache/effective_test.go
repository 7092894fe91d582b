package drivercache

import "testing"

func TestEffectiveIsWhatTheDriverDoes(t *testing.T) {
	const mesa, oldMesa = "4.5 (Core Profile) Mesa 22.3.6", "4.5 (Core Profile) Mesa 20.3.5"
	managed := State{Managed: true, Dir: "/c/driver"}
	set := func(settings string) State {
		return State{Managed: true, Dir: "/c/driver", Reason: userSettings + settings}
	}
	for _, c := range []struct {
		name, vendor, version string
		variable, value       string
		state, want           State
	}{
		{"nothing set", "Mesa", mesa, "", "", managed, managed},
		{"elsewhere", "Mesa", mesa, "", "", set("MESA_SHADER_CACHE_DIR=/u"), State{Dir: "/u", Reason: userSettings + "MESA_SHADER_CACHE_DIR=/u"}},
		{"elsewhere", "NVIDIA Corporation", "4.6.0 NVIDIA 580", "", "", set("__GL_SHADER_DISK_CACHE_PATH=/u"), State{Dir: "/u", Reason: userSettings + "__GL_SHADER_DISK_CACHE_PATH=/u"}},
		{"for the other driver", "Mesa", mesa, "", "", set("__GL_SHADER_DISK_CACHE_PATH=/u"), managed},
		{"for the other driver", "NVIDIA Corporation", "4.6.0 NVIDIA 580", "", "", set("MESA_SHADER_CACHE_DIR=/u"), managed},
		{"a size", "Mesa", mesa, "", "", set("MESA_SHADER_CACHE_MAX_SIZE=2G"), set("MESA_SHADER_CACHE_MAX_SIZE=2G")},
		{"a name that new Mesa ignores", "Mesa", mesa, "", "", set("MESA_GLSL_CACHE_DIR=/u"), set("MESA_GLSL_CACHE_DIR=/u")},
		{"a name that old Mesa reads", "Mesa", oldMesa, "", "", set("MESA_GLSL_CACHE_DIR=/u"), State{Dir: "/u", Reason: userSettings + "MESA_GLSL_CACHE_DIR=/u"}},
		{"off", "Mesa", mesa, "MESA_SHADER_CACHE_DISABLE", "true", managed, State{Reason: userSettings + "MESA_SHADER_CACHE_DISABLE=true"}},
		{"off", "NVIDIA Corporation", "4.6.0 NVIDIA 580", "__GL_SHADER_DISK_CACHE", "0", set("__GL_SHADER_DISK_CACHE=0"), State{Reason: userSettings + "__GL_SHADER_DISK_CACHE=0"}},
		{"another driver", "AMD", "4.6", "", "", set("MESA_SHADER_CACHE_DIR=/u"), set("MESA_SHADER_CACHE_DIR=/u")},
		{"not managed", "Mesa", mesa, "", "", State{Reason: "turned off", Off: true}, State{Reason: "turned off", Off: true}},
	} {
		t.Run(c.name+" "+c.version, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			if got := c.state.Effective(c.vendor, c.version); got != c.want {
				t.Errorf("%+v is effectively %+v, want %+v", c.state, got, c.want)
			}
		})
	}
}
