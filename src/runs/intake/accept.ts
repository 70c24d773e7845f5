import { hash } from 'node:crypto'
import { accessTo, permits, type Principal } from '../../access/permissions.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import type { Admission, Intake } from './admission.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import { checkHints } from './hints.ts'
import { checkSchemas } from './schemas.ts'
import type { ClientWaits } from '../execution/client-waits.ts'
import type { CallerSchemas, ClientTools } from '../execution/ports.ts'
import type { Jobs } from '../jobs.ts'
import type { RunMutex } from '../ownership/registry.ts'
import type { Accepted, RunStore } from '../run-store.ts'
import type { BeginRun } from './begin-run.ts'
import { reachState } from '../../states.ts'

/** The event of an async chat. `source` and `id` identify the event; `callbackUrl` receives the end of the run. */
export interface ChatEvent {
  source: string
  id: string
  callbackUrl: string | undefined
  /** True where the callback is also to report interruptions. */
  reportsInterruptions?: boolean
}

interface AcceptanceDependencies {
  store: Pick<RunStore, 'findEvent'>
  jobs: Pick<Jobs, 'wake'>
  agent: CurrentAgent
  admission: Pick<Admission, 'refuseEvent'>
  intake: Pick<Intake, 'assertOpen'>
  mutex: Pick<RunMutex, 'run'>
  beginRun: BeginRun
  clientTools: ClientTools
  clientWaits: Pick<ClientWaits, 'refuse'>
  schemas: CallerSchemas
  /** The reason not to call an address, as a message for the caller; undefined for a permitted address. */
  refusalOf(url: string): Promise<string | undefined>
}

/**
 * Accepts an event. The run is stored when the promise resolves, and starts in any process when the session and a worker are free. A repeated
 * event gets the ids of the first event and starts no run; `toChat`, which may refuse the data of the event, is not called.
 */
export type Accept = (
  caller: Pick<Principal, 'tenant' | 'owner' | 'permissions'>,
  event: ChatEvent,
  toChat: () => NewChat,
) => Promise<Accepted>

export function createAcceptance(dependencies: AcceptanceDependencies): Accept {
  const { store, jobs, agent, admission, intake, mutex, beginRun, clientWaits, refusalOf } = dependencies

  return async (caller, event, toChat) => {
    const newEvent = { key: hash('sha256', JSON.stringify([event.source, event.id])), id: event.id, callbackUrl: event.callbackUrl }
    // An accepted event is acknowledged again before its data is checked, whatever the state of the run.
    const earlier = await store.findEvent(caller, newEvent.key)
    if (earlier) {
      reachState('event-known')
      return earlier
    }
    intake.assertOpen()
    const overload = admission.refuseEvent()
    if (overload) throw overload
    const chat = toChat()
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
      return await begin(toAsync(chat, event, permits(caller, accessTo.linkArtifact)), {
        key,
        sessionId: chat.sessionId ?? chat.newSessionId,
        agent: current,
        event: newEvent,
      })
    } finally {
      release()
    }
  }

  function begin(chat: NewChat, target: OpenTarget): Promise<Accepted> {
    const { key, sessionId } = target
    return mutex.run(key, async () => {
      const { stored } = await beginRun(chat, target)
      if (stored.kind === 'accepted') return stored.as
      if (stored.kind === 'known')
        throw new ServiceError('request_id_reused', `The request id ${key.requestId} was used for another request.`)
      jobs.wake('run')
      return { requestId: key.requestId, sessionId }
    })
  }
}

/** No client waits for an async run, so a disconnect never cancels the run. */
function toAsync(chat: NewChat, { callbackUrl, reportsInterruptions = false }: ChatEvent, callbackLinks: boolean): NewChat {
  const callback = { hasCallback: true, callbackLinks, ...(reportsInterruptions ? { reportsInterruptions } : {}) }
  const request = callbackUrl === undefined ? chat.request : { ...chat.request, ...callback }
  return { ...chat, request, onDisconnect: 'continue' }
}
