import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { createRandom } from '../random.ts'
import { serve, type RunningService } from '../../test/fixtures/process.ts'
import { losePower } from './power-loss.ts'
import { createLedger, runScript, type Ledger } from './script.ts'
import { attach, diskCalls, type DiskFault } from './trace.ts'
import { verify } from './verify.ts'

/**
 * Runs a fixed script against the service on the embedded database while a call of the operating system fails: the first, the second,
 * and so on. After each ten scripts the process is ended and started again without faults, and the stored data are compared with the
 * acknowledged data. The exit code is 1 when data were lost, or an error was unclear.
 */
const { values: options } = parseArgs({
  options: {
    scripts: { type: 'string', default: '400' },
    losses: { type: 'string', default: '40' },
    seed: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
})
const maxScripts = Number(options.scripts)
const losses = Number(options.losses)
if (!(maxScripts >= 1 && maxScripts <= 100_000 && losses >= 0 && losses <= 10_000)) {
  console.error('Usage: npm run disk-faults -- [--scripts 1-100000] [--losses 0-10000] [--seed N] [--keep]')
  process.exit(2)
}
const seed = Number(options.seed ?? Date.now() % 1_000_000)
const random = createRandom(seed)
/** What a disk answers. A write of zero bytes is a short one, for which SQLite does not try again. */
const answers: readonly [call: (typeof diskCalls)[number], answer: string][] = [
  ['pwrite64', 'error=EIO'],
  ['pwrite64', 'error=ENOSPC'],
  ['pwrite64', 'retval=0'],
  ['fsync', 'error=EIO'],
  ['fdatasync', 'error=EIO'],
  ['ftruncate', 'error=EIO'],
  ['rename', 'error=EIO'],
  ['rename', 'error=ENOSPC'],
  ['unlink', 'error=EIO'],
]
const scriptsPerProcess = 10

interface Row {
  fault: string
  /** Calls of this kind in a script without faults. */
  calls: number
  scripts: number
  injected: number
  refusals: number
}

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-disk-'))
const log = path.join(folder, 'strace.log')
const wrong: string[] = []
let scripts = 0
let starts = 0
try {
  await run()
} finally {
  for (const end of ends) await end()
  if (wrong.length === 0 && !options.keep) await rm(folder, { recursive: true, force: true })
  else console.log(`Data: ${folder}`)
}
process.exit(wrong.length === 0 ? 0 : 1)

async function run(): Promise<void> {
  let service = await start()
  const counts = await countCalls(service)
  const faults = plan(counts)
  console.log(`${faults.length} scripts of 25 chats, each with one fault, seed ${seed}.`)
  const rows = new Map<string, Row>()
  const started = performance.now()
  let ledger = createLedger()
  for (const [index, fault] of faults.entries()) {
    const name = `${fault.call} ${fault.answer}`
    const row = rows.get(name) ?? { fault: name, calls: counts.get(fault.call) ?? 0, scripts: 0, injected: 0, refusals: 0 }
    rows.set(name, row)
    const before = ledger.refusals
    row.injected += await runWith(service, fault, ledger)
    row.scripts++
    row.refusals += ledger.refusals - before
    const hasEnded = service.child.exitCode !== null || service.child.signalCode !== null
    if (hasEnded) wrong.push(`the service ended: ${name} at ${fault.when}: ${service.stderr().slice(-500)}`)
    if (hasEnded || (index + 1) % scriptsPerProcess === 0 || index === faults.length - 1) {
      service = await restart(service)
      wrong.push(...(await verify(service.client, ledger)), ...ledger.unclear.map((text) => `an unclear error: ${text}`))
      ledger = createLedger()
    }
  }
  service.child.kill('SIGTERM')
  await service.ended
  const { wrong: afterLosses, lostWrites } = await losePower({ count: losses, folder, random })
  wrong.push(...afterLosses)
  report([...rows.values()], lostWrites, (performance.now() - started) / 1000)
}

/** Runs the script while the call fails. Returns how often it did. */
async function runWith(service: RunningService, fault: DiskFault, ledger: Ledger): Promise<number> {
  const trace = await attach(service.child.pid!, log, fault)
  // The ids say which fault it was.
  await runScript(service.client, `n${scripts++}-${fault.call}-${fault.answer.replace('=', '')}-${fault.when}`, ledger)
  return (await trace.end()).injected.length
}

async function start(): Promise<RunningService> {
  return serve(scope, folder, { LOG_FORMAT: 'json' })
}

/** Ends the process, every second time without notice, and starts it again. */
async function restart(service: RunningService): Promise<RunningService> {
  service.child.kill(starts++ % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
  await service.ended
  return start()
}

/** Calls of each kind in a script without faults, in the thread that makes most of them. */
async function countCalls(service: RunningService): Promise<Map<string, number>> {
  const ledger = createLedger()
  await runScript(service.client, 'warm-up', ledger)
  const trace = await attach(service.child.pid!, log)
  await runScript(service.client, 'counted', ledger)
  const { calls } = await trace.end()
  wrong.push(...ledger.unclear, ...(await verify(service.client, ledger)))
  const counts = new Map<string, number>()
  for (const call of diskCalls) {
    const ofCall = calls.filter((line) => line.includes(` ${call}(`)).map((line) => line.split(' ', 1)[0]!)
    const byThread = Map.groupBy(ofCall, (thread) => thread)
    counts.set(call, Math.max(0, ...[...byThread.values()].map(({ length }) => length)))
  }
  return counts
}

/** Every n of every kind; where that is more than `maxScripts`, places spread evenly, the same number for each kind. */
function plan(counts: ReadonlyMap<string, number>): DiskFault[] {
  const kinds = answers.filter(([call]) => (counts.get(call) ?? 0) > 0)
  const total = kinds.reduce((sum, [call]) => sum + counts.get(call)!, 0)
  const perKind = total <= maxScripts ? Infinity : Math.max(1, Math.floor(maxScripts / kinds.length))
  return kinds.flatMap(([call, answer]) => {
    const count = counts.get(call)!
    const chosen = Math.min(count, perKind)
    const offset = random()
    return Array.from({ length: chosen }, (_, index): DiskFault => ({
      call,
      answer,
      when: 1 + Math.floor(((index + offset) * count) / chosen),
    }))
  })
}

function report(rows: readonly Row[], lostWrites: number, seconds: number): void {
  console.log(`\n  ${'fault'.padEnd(24)}${'calls'.padStart(8)}${'scripts'.padStart(9)}${'injected'.padStart(10)}${'refused'.padStart(9)}`)
  for (const { fault, calls, scripts: count, injected, refusals } of rows)
    console.log(
      `  ${fault.padEnd(24)}${String(calls).padStart(8)}${String(count).padStart(9)}${String(injected).padStart(10)}${String(refusals).padStart(9)}`,
    )
  console.log(`  ${losses} losses of power, in which ${lostWrites} writes were lost`)
  console.log(`  ${scripts} scripts, ${starts} restarts, ${seconds.toFixed(0)} s`)
  console.log(wrong.length === 0 ? '\nNothing acknowledged was lost, and every error was clear.' : `\n${wrong.length} FAULTS`)
  for (const text of wrong.slice(0, 40)) console.log(`  ${text}`)
}
