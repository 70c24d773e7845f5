import type { CallOptions, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'

export type SubAgent = Reply<'GET', '/core/v1/chain/sub_agents/{sub_agent_id}'>
export type SubAgentRequest = RequestOptions<'POST', '/core/v1/chain/sub_agents'>['body']

/** Agents to which the agent can delegate tasks. */
export interface SubAgents {
  list(options?: CallOptions): Promise<Reply<'GET', '/core/v1/chain/sub_agents'>>
  create(request: SubAgentRequest, options?: CallOptions): Promise<Reply<'POST', '/core/v1/chain/sub_agents'>>
  get(id: string, options?: CallOptions): Promise<SubAgent>
  delete(id: string, options?: CallOptions): Promise<Reply<'DELETE', '/core/v1/chain/sub_agents/{sub_agent_id}'>>
}

export function createSubAgents(transport: Transport): SubAgents {
  const parts = (id: string, options?: CallOptions) => ({ ...options, path: { sub_agent_id: id } })
  return {
    list: (options) => transport.request('GET', '/core/v1/chain/sub_agents', options),
    create: (body, options) => transport.request('POST', '/core/v1/chain/sub_agents', { ...options, body }),
    get: (id, options) => transport.request('GET', '/core/v1/chain/sub_agents/{sub_agent_id}', parts(id, options)),
    delete: (id, options) => transport.request('DELETE', '/core/v1/chain/sub_agents/{sub_agent_id}', parts(id, options)),
  }
}
