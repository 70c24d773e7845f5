import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { refusals } from './schemas.ts'
import { named } from '../openapi/named.ts'

export const Metadata = named(
  'AgentMetadata',
  Type.Object({
    body: Type.Object({
      id: Type.String(),
      name: Type.String(),
      description: Type.String(),
      uri_id: Type.String(),
      conversation_starters: Type.Array(Type.Object({ title: Type.String(), message: Type.String() })),
      capabilities: Type.Array(Type.String()),
    }),
  }),
)

/** The route of the agent's metadata. */
export function metadataRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
  app.get(
    '/core/v1/metadata',
    {
      config: { access: 'metadata.read' },
      schema: {
        tags: ['Agent'],
        summary: 'Get name, description and capabilities of the agent',
        details: () => ({
          description: 'What a page about the agent shows: name, description, conversation starters, and what it can do.',
        }),
        response: { 200: Metadata, ...refusals },
      },
    },
    async () => {
      const { config, tools } = agent()
      const { id, name, description, uri_id, conversation_starters } = config
      const planning = config.workflow_type === 'plan_execute' ? ['planning'] : []
      const capabilities = ['chat', 'streaming', 'sessions', 'sub_agents', ...planning, ...tools.list().map((tool) => `tool:${tool.name}`)]
      return { body: { id, name, description, uri_id, conversation_starters, capabilities } }
    },
  )
}
