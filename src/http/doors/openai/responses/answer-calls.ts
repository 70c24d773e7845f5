import type { Principal } from '../../../../access/principal.ts'
import type { ApprovalStore } from '../../../../runs/approvals/approval-store.ts'
import type { EchoStore } from '../../../../runs/log/echo-store.ts'
import type { RunKey } from '../../../../runs/run.ts'
import { answerRun, type AnsweredRun, type AnswerServices } from '../answered-run.ts'
import { toToolCallId, type ResponseKey } from '../ids.ts'
import { partEchoOf, withPart, type PartEcho } from './echo.ts'
import type { OutputItem } from './input.ts'
import { partAfterCall } from './parts.ts'
import { eventsOf, findRun } from './stored.ts'

export interface CallServices extends AnswerServices {
  echoes: Pick<EchoStore, 'replace'>
  openCalls: Pick<ApprovalStore, 'clientCalls' | 'openOf'>
}

/** The run that a request's outputs resume, and the id of the new response. */
export interface AnsweredCalls {
  answered: AnsweredRun
  key: ResponseKey
}

/**
 * Gives the outputs at the end of a request to the caller's run that waits for them. The run goes on, and its next part is the response of the
 * request. The same outputs once more find the same part. Undefined where no run waits: then the outputs are history.
 */
export async function answerCalls(
  services: CallServices,
  principal: Principal,
  outputs: readonly OutputItem[],
  echo: PartEcho,
): Promise<AnsweredCalls | undefined> {
  const sent = outputs.map(({ callId, output }) => ({ callId: toToolCallId(callId), output }))
  const [call] = await services.openCalls.clientCalls(
    principal,
    sent.slice(0, 1).map(({ callId }) => callId),
  )
  if (!call) return undefined
  const part = await beginPart(services, call, call.callId, echo)
  const answered = part === undefined ? undefined : await answerRun(services, principal, sent, ['body', 'input'])
  return answered && part !== undefined ? { answered, key: { requestId: answered.key.requestId, part } } : undefined
}

/** Stores the parameters of the request with the run, before the run goes on. Undefined for a run of another route. */
async function beginPart({ runStore, echoes }: CallServices, key: RunKey, callId: string, echo: PartEcho): Promise<number | undefined> {
  const run = await findRun(runStore, key)
  const part = run && partAfterCall(eventsOf(run), callId)
  if (!run || part === undefined || !partEchoOf(run, 1)) return undefined
  const { request } = run
  const withEcho = withPart(run, part, echo)
  if (run.status === 'interrupted' && request && withEcho) await echoes.replace({ ...run, request }, withEcho)
  return part
}
