import type { FastifyBaseLogger } from 'fastify'
import type { Principal } from '../../../access/principal.ts'
import { accessTo, permits } from '../../../access/operations.ts'
import { callerKey } from '../../../access/owner.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { parseFormId, toDecision, toFormId } from './forms.ts'

/** Takes the answers of legacy clients to the forms that a stream has sent. Each answer is a request of its own, which may reach another process. */
export interface FormAnswers {
  /** Applies an answer. False for a message that is no answer to a form. */
  take(message: unknown, principal: Principal, log: FastifyBaseLogger): Promise<boolean>
  /** A signal that is aborted when the user dismisses one of the forms. `release` ends the wait. */
  waitFor(principal: Principal, requestId: string, callIds: readonly string[]): { dismissed: AbortSignal; release(): void }
}

export function createFormAnswers({ approvals }: { approvals: Pick<Approvals, 'decide'> }): FormAnswers {
  /** Streams of this process that wait for answers. */
  const waiting = new Map<string, AbortController>()
  const keyOf = (principal: Principal, formId: string) => `${callerKey(principal)}\n${formId}`

  return {
    async take(message, principal, log) {
      const { id, method, result } = fieldsOf(message)
      const form = method === undefined ? parseFormId(id) : undefined
      if (!form) return false
      const decision = toDecision(form.callId, result)
      if (!decision || !permits(principal, accessTo.decideCall)) {
        waiting.get(keyOf(principal, String(id)))?.abort()
        return true
      }
      // A response has no response: who cannot decide any more learns so from the answer of the run.
      await approvals
        .decide(principal, form.requestId, decision)
        .catch((error: unknown) => log.debug({ err: error }, 'an answered form decided nothing'))
      return true
    },

    waitFor(principal, requestId, callIds) {
      const controller = new AbortController()
      const keys = callIds.map((callId) => keyOf(principal, toFormId(requestId, callId)))
      for (const key of keys) waiting.set(key, controller)
      const release = () => {
        for (const key of keys) if (waiting.get(key) === controller) waiting.delete(key)
      }
      return { dismissed: controller.signal, release }
    },
  }
}
