import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the space of new objects small until the returned function is called. V8 doubles the space for whatever a start keeps, up to 16 MB,
 * and never returns these pages to the system: 10 MB of an idle service. A small space is collected in a millisecond, for which other threads
 * only cost time. Under load the space grows as ever.
 */
export function limitYoungObjects(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-parallel-scavenge')
  return () => {
    setFlagsFromString('--semi-space-growth-factor=2')
    setFlagsFromString('--parallel-scavenge')
  }
}
