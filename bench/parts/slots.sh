# What empty slots of the process array cost: the same 10 backends at
# max_connections 100 and 10000.

part_slots()
{
	local n side actors=()

	for n in 100 10000; do
		boot_both $n "max_connections = $n"
		for side in "${sides[@]}"; do
			find_sampler $side
			actors+=("$side=$pid")
			idle_crowd $side 10
		done
	done
	sleep 1

	take_turns cpu "$(full 15 2)" 1 "${actors[@]}"
	row 'sampler CPU, max_connections 10000' ' %' 1e-7 \
		'<=' 1.2 cpu/ours10000 cpu/ours100 'at 100'
	if [ "$peer" = yes ]; then
		row "the peer's" ' %' 1e-7 - - cpu/peer10000 cpu/peer100 'at 100'
		row 'ours against the peer, max_connections 10000' ' %' 1e-7 \
			- - cpu/ours10000 cpu/peer10000 peer
	fi
}
