import { ProtocolError, ProtocolErrorCode, type Client } from '@modelcontextprotocol/client'
import { createMutex } from '../../../concurrency/mutex.ts'
import type { AllowedRequests, ServerRequests } from './server-requests.ts'

/** Answers requests that a server of the 2025 protocol sends during a call. */
export interface OlderRequests {
  /** Runs a call. Such requests do not name their call, so that calls run one at a time where requests are allowed. */
  during<T>(requests: ServerRequests, call: () => Promise<T>): Promise<T>
}

/** Must be called before the client connects, with the same `allowed` as its capabilities. */
export function answerOlderRequests(client: Client, allowed: AllowedRequests): OlderRequests {
  const mutex = createMutex()
  let current: ServerRequests | undefined
  const requestsOfCall = () => {
    if (!current) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, 'The request belongs to no open call.')
    return current
  }
  if (allowed.sampling)
    client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) => requestsOfCall().sample(params, mcpReq.signal))
  if (allowed.elicitation) client.setRequestHandler('elicitation/create', ({ params }) => requestsOfCall().cancelQuestion(params))
  return {
    during(requests, call) {
      // Servers of the 2026 protocol ask in the result of the call.
      if (client.getProtocolEra() === 'modern' || (!allowed.sampling && !allowed.elicitation)) return call()
      return mutex.run(async () => {
        current = requests
        try {
          return await call()
        } finally {
          current = undefined
        }
      })
    },
  }
}

/** The capabilities that the client declares. Without a capability, requests are answered with "method not found". */
export function toCapabilities({ sampling, elicitation }: AllowedRequests) {
  return { ...(sampling && { sampling: {} }), ...(elicitation && { elicitation: { form: {}, url: {} } }) }
}
