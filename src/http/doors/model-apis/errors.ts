import type { FastifyReply } from 'fastify'
import { type ErrorBody, type Fault, toParam } from '../../../errors.ts'
import type { ErrorShape } from '../../server/error-reply.ts'

/** What is wrong with a request, in a form that APIs of models share. */
export interface NamedError {
  message: string
  /** The faulty field, such as `messages[0].role`; null for none. */
  param: string | null
  fault: Fault | undefined
}

export function toNamedError({ body, details }: ErrorBody): NamedError {
  const fault = mostSpecific((details?.['errors'] ?? []) as Fault[])
  const [, ...path] = fault?.loc ?? []
  const param = path.length > 0 ? toParam(path) : null
  return { message: fault && param !== null ? `${param}: ${fault.msg}` : body, param, fault }
}

/** The most helpful fault. In a union, the deepest fault belongs to the intended shape; a wrong value is more specific than a missing or mistyped one. */
function mostSpecific(faults: readonly Fault[]): Fault | undefined {
  const specificity = ({ loc, type }: Fault) => loc.length * 2 + (type === 'missing' || type === 'type' ? 0 : 1)
  return faults.reduce<Fault | undefined>((best, fault) => (best && specificity(best) >= specificity(fault) ? best : fault), undefined)
}

/** These APIs have no 422; validation errors are 400. */
export function statusOfModelApi(status: number): number {
  return status === 422 ? 400 : status
}

/** Errors for the SDKs of OpenAI and Anthropic, which obey `x-should-retry`. */
export function withoutFutileRetries(send: (reply: FastifyReply, error: ErrorBody) => FastifyReply): Pick<ErrorShape, 'refuse' | 'fail'> {
  return {
    /** The SDKs retry any 409. Only a 409 with `retry-after` can succeed later, so the others set `x-should-retry: false`. */
    refuse(reply, error) {
      if (error.status_code === 409 && !reply.hasHeader('retry-after')) void reply.header('x-should-retry', 'false')
      return send(reply, error)
    },
    /**
     * The SDKs retry a failed run automatically. With a request id of the caller, a retry continues the run. Without a request id, a retry would
     * start a second run, and its tools would repeat their effects.
     */
    fail(reply, error) {
      if (reply.request.headers['request-id'] === undefined) void reply.header('x-should-retry', 'false')
      return send(reply, error)
    },
  }
}
