import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { statesChannel } from '../../src/states.ts'

/** Loaded into each replica: sets the clock of the process, and appends one line per state to `STATES_FILE`, at once, so that a killed process loses none. */
const file = process.env['STATES_FILE']
if (file === undefined) throw new Error('STATES_FILE is not set.')
/** Clocks of machines differ by some seconds. */
const skewMs = Number(process.env['CLOCK_SKEW_MS'] ?? 0)
const machineTime = Date.now
if (skewMs !== 0) Date.now = () => machineTime() + skewMs

/** Frequent states are not counted beyond this number per process. */
const maxCount = 100

const counts = new Map<string, number>()

subscribe(statesChannel, (name) => {
  const count = (counts.get(String(name)) ?? 0) + 1
  counts.set(String(name), count)
  if (count <= maxCount) appendFileSync(file, `${String(name)}\n`)
})
