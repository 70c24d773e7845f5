import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { startBalancer } from './balancer.ts'
import { check } from './checker/check.ts'
import { findDisturbed } from './checker/disturbed.ts'
import { checkLedger } from './ledger-checks.ts'
import { concurrencyLimits, createCallers, runClients } from './clients/start.ts'
import { makeFaults, roll } from './faults.ts'
import { History } from './history/history.ts'
import { ofKind } from './history/operations.ts'
import { readAll, settle } from './last-reads.ts'
import { readOptions } from './options.ts'
import { startOutside } from './outside.ts'
import { createRandomOf } from '../random.ts'
import { countStates, findUnreached, printStates } from './reached-states.ts'
import { printReport } from './report.ts'
import { openService } from './service.ts'
import { checkBudgets, checkMessages, checkSchedules, checkStore } from './store-checks.ts'
import { upgrade } from './upgrade.ts'

/**
 * Runs replicas of the service on a shared Postgres behind a load balancer. Clients use all of the interface while faults are injected, and the
 * history of their operations is checked at the end. The exit code is 1 when anything was lost, made twice, or left behind.
 */
const { seconds, replicas: count, clients, seed, isRolling, from, keepsFiles } = readOptions()
const randomOf = createRandomOf(seed)
const violations: string[] = []
const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-chaos-'))
const history = new History(path.join(folder, 'history.ndjson'))
const outside = await startOutside(randomOf('outside'), history)
const service = await openService(folder, { count, outside, random: randomOf('connections'), from })
const { replicas } = service
const balancer = await startBalancer(
  replicas.map(({ port }) => port),
  (port) => replicas.find((replica) => replica.port === port)!.process,
)
let isLoad = true
let anomalyCount = 1
try {
  // Started together, so that all replicas migrate the same database at once.
  await Promise.all(replicas.map((replica) => replica.start()))
  const key = (await readFile(path.join(folder, replicas[0]!.name, 'data', 'admin.key'), 'utf8')).trim()
  console.log(
    `${count} replicas, ${clients} clients, ${seconds} s, seed ${seed}${isRolling ? ', rolling restarts' : ''}${from ? `, upgraded from ${from}` : ''}.`,
  )
  const administrator = { name: 'admin', url: balancer.url, key, history }
  const targets = replicas.map((replica) => ({ url: `http://127.0.0.1:${replica.port}`, name: () => replica.process }))
  const { callbackUrl } = outside
  const callers = await createCallers(administrator)
  const until = Date.now() + seconds * 1000
  const msLeft = () => until - Date.now()
  const running = runClients({ count: clients, administrator, callers, callbackUrl, targets, randomOf, isActive: () => isLoad, msLeft })
  const scene = { ...service, outside, random: randomOf('faults'), history, violations }
  const faults = await (from ? upgrade(scene, until, isRolling) : isRolling ? roll(scene, until) : makeFaults(scene, until))
  isLoad = false
  await running
  const settledMs = await settle(service.query)
  await readAll({ caller: administrator, callbackUrl, isActive: () => true, msLeft: () => 0, random: randomOf('last') }, [
    administrator,
    ...Object.values(callers),
  ])
  violations.push(...(await checkStore(service.query, count)), ...outside.violations)
  for (const replica of replicas) if (replica.crashes > 0) violations.push(`${replica.name} exited unexpectedly ${replica.crashes} times`)
  const overrides = ofKind(history.operations, 'override').map(({ args }) => args)
  const limits = new Map(overrides.toSorted((a, b) => a.usd - b.usd).map(({ budget, usd }) => [budget, usd]))
  if (isRolling) violations.push(...findDisturbed(history.operations))
  const states = await countStates(replicas.map(({ statesFile }) => statesFile))
  const faultCount = faults.values().reduce((total, count) => total + count, 0)
  const anomalies = new Map([
    ...check(history.operations, concurrencyLimits),
    ['processes and database are in order', violations],
    ['budgets pay what was counted', await checkBudgets(service.query, outside.costs, limits)],
    ['each effect is in the ledger', from ? [] : await checkLedger(service.query, countEffects(), replicas[0]!)],
    ['schedules fire each time once', await checkSchedules(service.query)],
    ['messages to runs are delivered once', await checkMessages(service.query, history.operations)],
    ['rare states are reached', isRolling || from ? [] : findUnreached(states, seconds, faultCount)],
  ])
  printStates(states)
  anomalyCount = printReport({ history: history.operations, faults, anomalies, passed: [...balancer.passed.values()], settledMs })
} finally {
  isLoad = false
  await service.stop()
  balancer.close()
  await outside.close()
  await history.close()
  if (!keepsFiles && anomalyCount === 0) await rm(folder, { recursive: true, force: true })
  else console.log(`Logs and history: ${folder}`)
}
/** How often each call has arrived outside, by its id. */
function countEffects(): Map<string, number> {
  const effects = Map.groupBy(ofKind(history.operations, 'effect'), ({ args }) => args.key)
  return new Map([...effects].map(([call, operations]) => [call, operations.length]))
}

process.exit(anomalyCount > 0 ? 1 : 0)
