import { serviceActing, type Act, type Acting, type ActingIn } from '../audit/acts.ts'
import type { Permission } from './permissions.ts'

/** Refusals, counted in memory by caller, minute and permission, and recorded each minute. */
export interface Denials {
  /** Counts a request that was refused for lack of rights. Free of I/O. */
  count(caller: ActingIn, refused: Refused): void
  /** Counts a sign-in at the console with an invalid code or key: the caller is unknown. */
  countSignIn(): void
  /** Records what was counted, and stops. */
  close(): Promise<void>
}

export interface Refused {
  /** The permissions, of which one is enough. Absent: another rule refused the request. */
  access?: readonly Permission[]
  /** Method and pattern of the route. */
  route: string
}

/** An act, and who acts. */
export interface Denial {
  acting: Acting
  act: Act
}

export interface DenialsOptions {
  /** Records denials of a tenant. */
  record(tenant: string, denials: readonly Denial[]): Promise<void>
  /** The tenant of refusals of unknown callers, and of too many callers. */
  adminTenant: string
  /** Epoch milliseconds. */
  now(): number
  onError(error: unknown): void
}

interface Group extends Denial {
  tenant: string
  minute: number
  count: number
}

const minuteMs = 60_000
/** Groups in memory. Refusals of further callers are counted together. */
const maxGroups = 1000

const unknownActing: Acting = { issuer: 'unknown', sub: 'unknown', via: 'console' }

export function createDenials({ record, adminTenant, now, onError }: DenialsOptions): Denials {
  const groups = new Map<string, Group>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function add(group: Group): void {
    const { tenant, minute, acting, act } = group
    const { issuer, sub, keyId, via } = acting
    const key = JSON.stringify([minute, tenant, issuer, sub, keyId, via, act.action, act.target])
    const known = groups.get(key)
    if (known) known.count += group.count
    else if (groups.size < maxGroups || acting === serviceActing) groups.set(key, group)
    else add({ ...group, tenant: adminTenant, acting: serviceActing, act: denied('callers:others') })
    wait()
  }

  /** Waits for the next minute. */
  function wait(): void {
    timer ??= setTimeout(() => void flush(minuteOf(now())), minuteMs - (now() % minuteMs)).unref()
  }

  const addOne = (tenant: string, acting: Acting, act: Act) => add({ tenant, acting, act, minute: minuteOf(now()), count: 1 })

  /** Records the groups of minutes before `end`. */
  function flush(end: number): Promise<void> {
    timer = undefined
    return (writing = writing.then(() => write(end)))
  }

  async function write(end: number): Promise<void> {
    const due = [...groups].filter(([, { minute }]) => minute < end)
    for (const [key] of due) groups.delete(key)
    const byTenant = Map.groupBy(
      due.map(([, group]) => group),
      ({ tenant }) => tenant,
    )
    for (const [tenant, ofTenant] of byTenant)
      await record(tenant, ofTenant.map(toDenial)).catch((error: unknown) => {
        for (const group of ofTenant) add(group)
        onError(error)
      })
    if (groups.size > 0) wait()
  }

  return {
    count: ({ tenant, issuer, sub, keyId, via }, { access, route }) =>
      addOne(tenant, { issuer, sub, keyId, ...(via && { via }) }, denied(access ? `permission:${access.join('|')}` : `route:${route}`)),
    countSignIn: () => addOne(adminTenant, unknownActing, { action: 'console.signed_in', target: 'console', outcome: 'refused' }),
    async close() {
      await flush(Infinity)
      clearTimeout(timer)
    },
  }
}

function minuteOf(ms: number): number {
  return Math.floor(ms / minuteMs)
}

function denied(target: string): Act {
  return { action: 'access.denied', target, outcome: 'refused' }
}

function toDenial({ acting, act, count, minute }: Group): Denial {
  return { acting, act: { ...act, data: { count, minute: new Date(minute * minuteMs).toISOString() } } }
}
