import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Adoption } from './adopt.ts'
import { callbackJob } from '../callbacks/callbacks.ts'
import type { Job, JobOutcome, Jobs } from '../jobs.ts'
import type { Intake, Admission } from '../intake/admission.ts'
import type { LiveRun } from './live-run.ts'
import type { RunMutex } from './run-registry.ts'
import { leavingEnd } from './session-queue.ts'
import type { RunStore, StoredRun, Accepted, NewRun } from '../run-store.ts'
import { reachState } from '../../states.ts'
import { hash } from 'node:crypto'
import type { Caller } from '../../access/rate-limits.ts'
import { accessTo, permits, type Principal } from '../../access/permissions.ts'
import { invalid, ServiceError } from '../../errors.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import { checkHints, checkSchemas } from '../intake/checks.ts'
import type { ClientWaits } from '../execution/client-waits.ts'
import type { CallerSchemas, ClientTools } from '../execution/ports.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { payerOf, questionIn, type ToNewRun } from '../intake/open.ts'

/** The event of an async chat. `source` and `id` identify the event; `callbackUrl` receives the end of the run. */
export interface ChatEvent {
  source: string
  id: string
  callbackUrl: string | undefined
  /** True where the callback is also to report interruptions. */
  reportsInterruptions?: boolean
}

/**
 * Accepts an event. The run is stored when the promise resolves, and starts in any process when the session and a worker are free. A repeated
 * event gets the ids of the first event and starts no run; `toChat`, which may refuse the data of the event, is not called.
 */
export type Accept = (caller: EventCaller, event: ChatEvent, toChat: () => NewChat) => Promise<Accepted>

type EventCaller = Caller & Pick<Principal, 'permissions'>

export interface Acceptance {
  accept: Accept
  /** The run of an event, checked and admitted as by `accept`, for a store that begins the run with other changes. */
  prepare(caller: EventCaller, event: ChatEvent, chat: NewChat): Promise<NewRun>
  /** Checks a chat as `accept` does, for runs that are made later, with the bytes of its images and files. Limits do not apply. */
  check(caller: EventCaller, event: ChatEvent, chat: NewChat): Promise<CheckedChat>
}

/** The request of a chat with its checked attachments. */
export type CheckedChat = Pick<NewRun, 'request' | 'images' | 'files'>

interface AcceptanceDependencies {
  store: Pick<RunStore, 'findEvent' | 'begin'>
  jobs: Pick<Jobs, 'wake'>
  agent: CurrentAgent
  admission: Pick<Admission, 'refuseEvent'>
  intake: Pick<Intake, 'assertOpen'>
  mutex: Pick<RunMutex, 'run'>
  toNewRun: ToNewRun
  clientTools: ClientTools
  clientWaits: Pick<ClientWaits, 'refuse'>
  budgets: Pick<Budgets, 'refusalOf'>
  schemas: CallerSchemas
  /** The reason not to call an address, as a message for the caller; undefined for a permitted address. */
  refusalOf(url: string): Promise<string | undefined>
}

type Use<T> = (chat: NewChat, target: OpenTarget) => Promise<T>

export function createAcceptance(dependencies: AcceptanceDependencies): Acceptance {
  const { store, jobs, agent, admission, intake, mutex, toNewRun, clientWaits, budgets, refusalOf } = dependencies

  async function admit<T>(caller: EventCaller, event: ChatEvent, toChat: () => NewChat, use: Use<T>): Promise<T> {
    intake.assertOpen()
    const overload = admission.refuseEvent()
    if (overload) throw overload
    return checked(caller, event, toChat(), async (chat, target) => {
      const spent = target.agent.config.budgets && (await budgets.refusalOf(payerOf(chat, target), target.agent, questionIn(chat)))
      if (spent) throw spent
      return use(toAsync(chat, event, permits(caller, accessTo.linkArtifact)), target)
    })
  }

  async function checked<T>(caller: EventCaller, event: ChatEvent, chat: NewChat, use: Use<T>): Promise<T> {
    const current = agent()
    const release = current.hold()
    try {
      await current.tools.settling()
      checkHints(chat.request.filters, current.tools, chat.at)
      if (chat.request.clientTools) await clientWaits.refuse(caller, current)
      await checkSchemas(chat, { ...dependencies, own: current.tools, caller })
      const refusal = event.callbackUrl === undefined ? undefined : await refusalOf(event.callbackUrl)
      if (refusal !== undefined) throw invalid([...chat.at, 'callback_url'], refusal)
      const key = { tenant: caller.tenant, owner: caller.owner, requestId: chat.requestId }
      const sessionId = chat.sessionId ?? chat.newSessionId
      const newEvent = { key: eventKey(event), id: event.id, callbackUrl: event.callbackUrl }
      return await use(chat, { key, sessionId, agent: current, event: newEvent, roles: caller.roles })
    } finally {
      release()
    }
  }

  function begin(chat: NewChat, target: OpenTarget): Promise<Accepted> {
    const { key, sessionId } = target
    return mutex.run(key, async () => {
      const { newRun } = await toNewRun(chat, target)
      const stored = await chat.times.during('store', () => store.begin(newRun))
      if (stored.kind === 'accepted') return stored.as
      if (stored.kind === 'known')
        throw new ServiceError('request_id_reused', `The request id ${key.requestId} was used for another request.`)
      jobs.wake('run')
      return { requestId: key.requestId, sessionId }
    })
  }

  return {
    async accept(caller, event, toChat) {
      // An accepted event is acknowledged again before its data is checked, whatever the state of the run.
      const earlier = await store.findEvent(caller, eventKey(event))
      if (!earlier) return admit(caller, event, toChat, begin)
      reachState('event-known')
      return earlier
    },

    prepare: (caller, event, chat) =>
      admit(
        caller,
        event,
        () => chat,
        async (admitted, target) => (await toNewRun(admitted, target)).newRun,
      ),

    check: (caller, event, chat) =>
      checked(caller, event, chat, async (_, target) => {
        const { newRun } = await toNewRun(chat, target)
        const { request, images = [], files = [] } = newRun
        // The schema and the roles of a run are those of its own time.
        const { roles: _roles, responseSchema: _schema, ...rest } = request
        const { responseSchema } = chat.request
        return { request: responseSchema === undefined ? rest : { ...rest, responseSchema }, images, files }
      }),
  }
}

/** Name of an event in the store. */
export function eventKey({ source, id }: Pick<ChatEvent, 'source' | 'id'>): string {
  return hash('sha256', JSON.stringify([source, id]))
}

/** No client waits for an async run, so a disconnect never cancels the run. */
function toAsync(chat: NewChat, { callbackUrl, reportsInterruptions = false }: ChatEvent, callbackLinks: boolean): NewChat {
  const callback = { hasCallback: true, callbackLinks, ...(reportsInterruptions ? { reportsInterruptions } : {}) }
  const request = callbackUrl === undefined ? chat.request : { ...chat.request, ...callback }
  return { ...chat, request, onDisconnect: 'continue' }
}

interface AsyncRunsDependencies {
  store: Pick<RunStore, 'claim' | 'release' | 'leaveQueue' | 'find'>
  adoption: Pick<Adoption, 'toTakeOver' | 'resume' | 'takeOver'>
  jobs: Pick<Jobs, 'wake'>
  agent: CurrentAgent
  mutex: Pick<RunMutex, 'run'>
  intake: Pick<Intake, 'isClosed'>
  now(): number
  newId(): string
  onFault(run: LiveRun, error: unknown): void
}

/** Async runs: an accepted run is unclaimed until a job claims the run, in any process. */
export interface AsyncRuns {
  /** Claims the run of a job and resolves when the run has ended or waits for approval. Does nothing where the job is outdated. */
  work(job: Job<'run'>): Promise<JobOutcome>
  /** Cancels an unclaimed run; false where a process has claimed the run meanwhile. */
  cancel(run: StoredRun): Promise<boolean>
  /** Makes handed over runs unclaimed, for other processes to resume. */
  release(runs: readonly LiveRun[]): Promise<void>
}

export function createAsyncRuns(dependencies: AsyncRunsDependencies): AsyncRuns {
  const { store, adoption, jobs, agent, mutex, intake, now, newId, onFault } = dependencies

  async function work({ tenant, data: { owner, requestId, fence, isResumed } }: Job<'run'>): Promise<JobOutcome> {
    // The first jobs run while the service starts: a resumed run needs the tools that the run had.
    await agent().tools.settling()
    if (intake.isClosed) return { kind: 'again', at: now() }
    const key = { tenant, owner, requestId }
    const run = await mutex.run(key, async () => {
      const claimed = await store.claim({ ...key, fence }, adoption.toTakeOver)
      return claimed && adoption.resume(claimed.run, claimed.takenOver, { isResumed: isResumed === true })
    })
    if (!run) reachState('job-outdated')
    await run?.ended
    return { kind: 'done' }
  }

  async function cancel(run: StoredRun): Promise<boolean> {
    // The run has begun before: its messages are kept in the session.
    if (run.messageIndex !== undefined) {
      const ending = await mutex.run(run, () => adoption.takeOver(run, { ending: 'cancelled' }))
      await ending?.ended
      // Another process may have taken the run over before the end was stored, or the store may have failed.
      return ending !== undefined && (await store.find(run))?.status === 'cancelled'
    }
    reachState('cancel-unclaimed')
    const end = leavingEnd('cancelled', inputOf(run), run.request)
    if (run.request?.hasCallback) end.jobs.push(callbackJob(run, { id: newId(), round: 0, now: now() }))
    const next = await store.leaveQueue(run, now(), end)
    jobs.wake('callback', ...(next?.holder === '' ? (['run'] as const) : []))
    return (await store.find(run))?.status === 'cancelled'
  }

  async function release(runs: readonly LiveRun[]): Promise<void> {
    const releases = runs.map((run) =>
      store.release(run.key, { fence: run.fence, status: 'running' }, now()).catch((error: unknown) => onFault(run, error)),
    )
    if (releases.length > 0) reachState('handed-over-released')
    if (releases.length > 0) await Promise.all(releases)
    if (releases.length > 0) jobs.wake('run')
  }

  return { work, cancel, release }
}

function inputOf({ request }: StoredRun): string {
  return request?.messages.at(-1)?.content ?? ''
}
