import { hash } from 'node:crypto'
import type { Owner } from '../../access/owner.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import type { Admission, Intake } from './admission.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import { checkHints } from './hints.ts'
import type { Jobs } from '../jobs.ts'
import type { RunMutex } from '../ownership/registry.ts'
import type { Accepted, RunStore } from '../run-store.ts'
import type { BeginRun } from './begin-run.ts'

/** The event of an async chat. `source` and `id` identify the event; `callbackUrl` receives the end of the run. */
export interface ChatEvent {
  source: string
  id: string
  callbackUrl: string | undefined
}

interface AcceptanceDependencies {
  store: Pick<RunStore, 'findEvent'>
  jobs: Pick<Jobs, 'wake'>
  agent: CurrentAgent
  admission: Pick<Admission, 'refuseEvent'>
  intake: Pick<Intake, 'assertOpen'>
  mutex: Pick<RunMutex, 'run'>
  beginRun: BeginRun
  /** The reason not to call an address, as a message for the caller; undefined for a permitted address. */
  refusalOf(url: string): Promise<string | undefined>
}

/**
 * Accepts an event. The run is stored when the promise resolves, and starts in any process when the session and a worker are free. A repeated
 * event gets the ids of the first event and starts no run; `toChat`, which may refuse the data of the event, is not called.
 */
export type Accept = (owner: Owner, event: ChatEvent, toChat: () => NewChat) => Promise<Accepted>

export function createAcceptance(dependencies: AcceptanceDependencies): Accept {
  const { store, jobs, agent, admission, intake, mutex, beginRun, refusalOf } = dependencies

  return async (owner, event, toChat) => {
    const newEvent = { key: hash('sha256', JSON.stringify([event.source, event.id])), id: event.id, callbackUrl: event.callbackUrl }
    // An accepted event is acknowledged again before its data is checked, whatever the state of the run.
    const earlier = await store.findEvent(owner, newEvent.key)
    if (earlier) return earlier
    intake.assertOpen()
    const overload = admission.refuseEvent()
    if (overload) throw overload
    const chat = toChat()
    const current = agent()
    const release = current.hold()
    try {
      await current.tools.settling()
      checkHints(chat.request.filters, current.tools, chat.at)
      const refusal = event.callbackUrl === undefined ? undefined : await refusalOf(event.callbackUrl)
      if (refusal !== undefined) throw invalid([...chat.at, 'callback_url'], refusal)
      const key = { tenant: owner.tenant, owner: owner.owner, requestId: chat.requestId }
      return await begin(toAsync(chat, event), { key, sessionId: chat.sessionId ?? chat.newSessionId, agent: current, event: newEvent })
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
function toAsync(chat: NewChat, { callbackUrl }: ChatEvent): NewChat {
  const request = callbackUrl === undefined ? chat.request : { ...chat.request, hasCallback: true }
  return { ...chat, request, onDisconnect: 'continue' }
}
