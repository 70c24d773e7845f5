import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addSums, measureStoreWaits, PhaseTimes, sumsSince, type Phase, type PhaseSums } from '../../concurrency/phase-times.ts'
import type { OpenRun } from '../../runs/open-run.ts'

/**
 * The header `server-timing` (W3C Server Timing) of every authenticated answer: where the time of the request went, in milliseconds. Without
 * `timing-allow-origin`, pages of other origins cannot read it.
 */

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes whose requests start runs: the run measures its own waits for the store. */
    startsRun?: true
  }
  interface FastifyRequest {
    /** Absent until something is measured. */
    timing: RequestTiming | undefined
    /** What is left of the budgets of the run, for `x-budget-remaining`; absent without budgets. */
    remaining: (() => string | undefined) | undefined
  }
}

interface RequestTiming {
  /** The times of the request and of the runs that it has started. The first run shares the times of the request. */
  created: PhaseTimes[]
  hasRun: boolean
  /** Runs started by earlier requests, with the times of the runs when the request came. */
  joined: { times: PhaseTimes; before: PhaseSums }[]
  /** True where another process executes the run: the phases are known there. */
  isElsewhere: boolean
}

/** Adds the header to replies, and measures the store for the routes that start no run. */
export function sendTimings(app: FastifyInstance): void {
  app.decorateRequest('timing', undefined)
  app.decorateRequest('remaining', undefined)
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.routeOptions.config.startsRun || !request.principal) return done()
    measureStoreWaits(timingOf(request).created[0]!, done)
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const remaining = request.remaining?.()
    if (remaining !== undefined) void reply.header('x-budget-remaining', remaining)
    const value = serverTimingOf(reply)
    if (value !== undefined) void reply.header('server-timing', value)
    done(null, payload)
  })
}

function timingOf(request: FastifyRequest): RequestTiming {
  return (request.timing ??= { created: [new PhaseTimes()], hasRun: false, joined: [], isElsewhere: false })
}

/** The times of a run that the request starts. A request starts a further run for the next message of a batch, or in a branch of its session. */
export function timesOfNewRun(request: FastifyRequest): PhaseTimes {
  const timing = timingOf(request)
  if (timing.hasRun) timing.created.push(new PhaseTimes())
  timing.hasRun = true
  return timing.created.at(-1)!
}

/** Adds the phases of a run, from now on, to the header of the request that waits for the run. */
export function waitsForRun(request: FastifyRequest, { times, log }: Pick<OpenRun, 'times' | 'log'>): void {
  const timing = timingOf(request)
  timing.hasRun = true
  if (!times) timing.isElsewhere ||= !log.ended
  else if (!timing.created.includes(times)) timing.joined.push({ times, before: times.read() })
}

/** Counts the work of a request without a run as a phase of the request. */
export function duringPhase<T>(request: FastifyRequest, phase: Phase, work: () => Promise<T>): Promise<T> {
  return timingOf(request).created[0]!.during(phase, work)
}

/** The header of a reply that is sent now; undefined for callers without a key. */
export function serverTimingOf({ request, elapsedTime: totalMs }: FastifyReply): string | undefined {
  if (!request.principal) return undefined
  const { timing } = request
  if (timing?.isElsewhere) return `total;dur=${toText(totalMs)}`
  let text = ''
  let ownMs = totalMs
  if (timing) {
    const { created, joined } = timing
    const sums = created.length === 1 && joined.length === 0 ? created[0]!.read() : sumsOf(timing)
    ownMs -= sums.people
    for (const phase of phases) {
      if (!timing.hasRun && phase !== 'store' && sums[phase] === 0) continue
      ownMs -= sums[phase]
      text += `${phase};dur=${toText(sums[phase])}, `
    }
  }
  return `${text}own;dur=${toText(Math.max(0, ownMs))}, total;dur=${toText(totalMs)}`
}

const phases = ['queue', 'store', 'model', 'tools'] as const

function sumsOf({ created, joined }: RequestTiming): PhaseSums {
  const parts = [...created.map((times) => times.read()), ...joined.map(({ times, before }) => sumsSince(times.read(), before))]
  return parts.reduce(addSums)
}

/** Milliseconds with at most one decimal. */
function toText(ms: number): string {
  return String(Math.round(ms * 10) / 10)
}
