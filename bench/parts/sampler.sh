# CPU of the sampler at default settings with 100 backends: first idle ones,
# then 100 that wait, so that every tick has 100 samples to store.

part_sampler()
{
	local crowd side n actors

	n=$(full 100 10)
	for crowd in idle waiting; do
		actors=()
		boot_both '' 'max_connections = 120'
		for side in "${sides[@]}"; do
			find_sampler $side
			actors+=("$side=$pid")
			${crowd}_crowd $side "$n"
		done
		start_empty 10000
		actors+=("empty=$pid")
		start_empty 10000
		actors+=("again=$pid")
		sleep 1

		take_turns $crowd "$(full 15 2)" 1 "${actors[@]}"
		if [ "$peer" = yes ]; then
			row "sampler CPU, 10 ms, $n backends $crowd" ' %' 1e-7 \
				'<=' 0.8 $crowd/ours $crowd/peer
		fi
		row "the same against an empty loop" ' %' 1e-7 \
			'<=' 1.1 $crowd/ours $crowd/empty 'empty loop'
		row "A/A: two empty loops" ' %' 1e-7 \
			- - $crowd/again $crowd/empty 'empty loop'
		end_part
	done
}
