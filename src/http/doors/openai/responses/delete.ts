import type { Principal } from '../../../../access/permissions.ts'
import { ServiceError } from '../../../../errors.ts'
import type { EchoStore } from '../../../../runs/log/echo-store.ts'
import type { Runs } from '../../../../runs/runs.ts'
import type { SessionChanges } from '../../../../sessions/session-changes.ts'
import type { SessionStore } from '../../../../sessions/session-store.ts'
import type { StoredResponse } from './stored.ts'

interface DeleteServices {
  runs: Pick<Runs, 'cancel'>
  echoes: Pick<EchoStore, 'remove'>
  sessionStore: Pick<SessionStore, 'find' | 'messages'>
  changes: Pick<SessionChanges, 'remove'>
}

/**
 * Cancels and deletes a response. The session is deleted with its only response; a session with other turns, or one that the caller made as a
 * conversation, keeps its messages.
 */
export async function deleteResponse(services: DeleteServices, principal: Principal, { run, echo }: StoredResponse): Promise<void> {
  const { runs, echoes, changes } = services
  await runs.cancel(run).catch((error: unknown) => {
    if (!(error instanceof ServiceError && error.code === 'run_ended')) throw error
  })
  const isAlone = !echo.fields.conversation && (await isOnlyRun(services, principal, run))
  if (isAlone) await changes.remove(principal, run.sessionId)
  else await echoes.remove(run)
}

/** True if every message of the session is of this run: of its request, or its answer. */
async function isOnlyRun({ sessionStore }: DeleteServices, principal: Principal, run: StoredResponse['run']): Promise<boolean> {
  const session = await sessionStore.find(principal, run.sessionId, { anyOwner: false })
  if (!session) return false
  const messages = await sessionStore.messages(session.tenant, session.key)
  return messages.every(({ data }, index) => index === run.messageIndex || data?.requestId === run.requestId)
}
