import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'

interface Machine {
  /** Cores that the service may use, by affinity and by the limit of its container. */
  cores: number
  setFlags(flags: string): void
}

const thisMachine: Machine = { cores: availableParallelism(), setFlags: setFlagsFromString }

/**
 * Lets each process collect its young objects in its main thread alone, where `processes` have a core each at most. V8 would divide every
 * collection among several threads. Without a core of their own these threads take turns with the thread that waits for them, which costs more
 * processor time than they save. V8 reads the flag at each collection, so it may be set after the start.
 */
export function fitGarbageCollection(processes: number, { cores, setFlags }: Machine = thisMachine): void {
  if (cores <= processes) setFlags('--no-parallel-scavenge')
}
