import type { Principal } from '../../../../access/permissions.ts'
import type { EchoStore } from '../../../../runs/log/echo-store.ts'
import { answerRun, type AnsweredRun, type OutputServices } from '../answered-run.ts'
import { toToolCallId } from '../ids.ts'
import { partEchoOf, withPart, type PartEcho } from './echo.ts'
import type { OutputItem } from './input.ts'
import { countParts } from './parts.ts'
import type { ResponseHead } from './response.ts'

export interface CallServices extends OutputServices {
  echoes: Pick<EchoStore, 'replace'>
}

/** The run that a request's outputs resume, and the new response. */
export interface AnsweredCalls {
  answered: AnsweredRun
  head: ResponseHead
}

/**
 * Gives the outputs at the end of a request to the caller's run that waits for them. The run goes on, and its next part is the response of the
 * request, whose parameters are stored with the run. The same outputs once more find the same part. Undefined where no run of this route waits: then
 * the outputs are history.
 */
export async function answerCalls(
  services: CallServices,
  principal: Principal,
  items: readonly OutputItem[],
  echo: PartEcho,
): Promise<AnsweredCalls | undefined> {
  const answered = await answerRun(services, principal, {
    outputs: items.map(({ callId, output }) => ({ callId: toToolCallId(callId), output })),
    at: ['body', 'input'],
    accepts: (run) => partEchoOf(run, 1) !== undefined,
    prepare: async (run, before) => {
      const { request } = run
      const withEcho = withPart(run, countParts(before), echo)
      if (run.status === 'interrupted' && request && withEcho) await services.echoes.replace({ ...run, request }, withEcho)
    },
  })
  if (!answered) return undefined
  const { key, part } = answered
  const { created, fields } = echo
  return { answered, head: { key: { requestId: key.requestId, part: countParts(part.before) }, part, created, fields } }
}
