import { configure, revoke, type Target } from './administrator.ts'
import { exceedRate, exceedRuns } from './limited.ts'
import { leave } from './leaver.ts'
import { remember } from './memories.ts'
import { pause, raiseLimits, spend } from './budgets.ts'
import { rush } from './rusher.ts'
import { schedule } from './scheduler.ts'
import { steer } from './steerer.ts'
import { talk } from './talker.ts'
import { send, type Caller, type Load } from './service.ts'

const chatting = ['chat', 'sessions.read', 'runs.read']

/** Roles and limits of the callers, for agent.yaml. */
export const access = {
  roles: { narrow: chatting, spender: chatting, pauser: chatting },
  rate_limits: { viewer: { requests_per_minute: 40 }, narrow: { concurrent_runs: 2 } },
}

/** Limits of concurrent runs by caller. */
export const concurrencyLimits = new Map([['narrow', 2]])

/** Number of clients with the same limited key, or in the same sessions. */
const crowd = 3
/** Number of crowds in shared sessions. */
const groups = 2

/** A caller with its own key for each part of the interface. */
type Callers = Record<(typeof callerRoles)[number][0], Caller>

const callerRoles = [
  ['viewer', 'viewer'],
  ['narrow', 'narrow'],
  ['rememberer', 'user'],
  ['spender', 'spender'],
  ['pauser', 'pauser'],
  ['scheduler', 'user'],
  ['steerer', 'user'],
] as const

export interface ClientsOptions {
  count: number
  administrator: Caller
  callers: Callers
  callbackUrl: string
  targets: readonly Target[]
  /** Independent random numbers for each client. */
  randomOf(client: string): () => number
  isActive(): boolean
  msLeft(): number
}

/** Runs all clients until `isActive` is false: `count` talkers, and a few for each other part of the interface. */
export async function runClients({
  count,
  administrator,
  callers: { viewer, narrow, rememberer, spender, pauser, scheduler, steerer },
  callbackUrl,
  targets,
  randomOf,
  isActive,
  msLeft,
}: ClientsOptions): Promise<void> {
  const loadOf = (client: string, caller = administrator): Load => ({ caller, callbackUrl, isActive, msLeft, random: randomOf(client) })
  const clients: Client[] = [
    ...named('c', count, (client) => talk(client, loadOf(client))),
    ...named('configurer', 2, (client) => configure(client, loadOf(client))),
    ...named('slow', crowd, (client) => exceedRuns(client, loadOf(client, narrow))),
    ...named('leaver', 4, (client) => leave(client, loadOf(client))),
    ...named('rusher', groups * crowd, (client, index) => rush(client, index % groups, loadOf(client))),
    ...named('revoker', 1, (client) => revoke(client, loadOf(client), targets)),
    ...named('viewer', 1, (client) => exceedRate(client, loadOf(client, viewer), access.rate_limits.viewer.requests_per_minute)),
    ...named('rememberer', 1, (client) => remember(client, loadOf(client, rememberer))),
    ...named('spender', crowd, (client) => spend(client, loadOf(client, spender))),
    ...named('pauser', crowd, (client) => pause(client, loadOf(client, pauser), administrator)),
    ...named('scheduler', 2, (client) => schedule(client, loadOf(client, scheduler))),
    ...named('steerer', crowd, (client) => steer(client, loadOf(client, steerer))),
    ...named('raiser', 1, (client) => raiseLimits(client, loadOf(client))),
  ]
  await Promise.all(clients.map(([name, work]) => work(name)))
}

type Client = [name: string, work: (client: string) => Promise<void>]

function named(name: string, count: number, work: (client: string, index: number) => Promise<void>): Client[] {
  return Array.from({ length: count }, (_, index) => [`${name}${index + 1}`, (client) => work(client, index)])
}

/** Makes the keys of the callers, before the first fault: a caller that waits for its key would shorten the load of all. */
export async function createCallers(administrator: Caller): Promise<Callers> {
  const callers = await Promise.all(callerRoles.map(async ([name, role]) => [name, await createCaller(administrator, name, role)] as const))
  return Object.fromEntries(callers) as Callers
}

async function createCaller(administrator: Caller, name: string, role: string): Promise<Caller> {
  let key = ''
  const request = { method: 'POST', path: '/core/v1/keys', body: { sub: name, roles: [role] } }
  const { reply } = await send(administrator, ['setup', 'create key', { caller: name }], request, (body) => {
    key = body.key
    return { key: body.jti }
  })
  if (!reply) throw new Error(`The key of ${name} could not be created.`)
  return { ...administrator, name, key }
}
