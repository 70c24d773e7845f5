import type { OperationTexts } from './operation-text.ts'

const whereId = 'Take an id from `GET /core/v1/chain/sub_agents`, or `sub_agent_id` from the reply that created it.'

export const subAgentTexts: OperationTexts = {
  getChainSubAgents: {
    description: "The caller's sub-agents, those that the agent created for the caller included.",
  },
  postChainSubAgents: {
    description: `Creates a specialised agent for the caller. In the caller's chats, the agent sees it as a tool with the input \`{task}\` and delegates tasks that fit its \`description\`. \`objective\` is its system prompt, \`tools\` are the tools that it may use, \`workflow_type: plan_execute\` lets it plan first. It stays until it is terminated.

- 409 \`SubAgentExists\`: the caller has a sub-agent of this name; names are unique per caller. \`SubAgentLimit\`: the caller has \`sub_agents.max\` (16) of them.
- 422: a tool is not known.`,
    requests: {
      'application/json': {
        analyst: {
          summary: 'A sub-agent for sales figures',
          value: {
            name: 'Analyst',
            description: 'Answers questions about the sales figures.',
            objective: 'Answer questions about the sales figures. Name the table that a number comes from.',
            tools: ['sales'],
          },
        },
      },
    },
  },
  getChainSubAgentsBySubAgentId: {
    description: `\`status\` is \`initializing\`, \`ready\`, \`busy\` while it works, or \`error\` after a task that failed. ${whereId} A terminated sub-agent is 404.`,
  },
  deleteChainSubAgentsBySubAgentId: {
    description: `Ends the sub-agent and cancels what it works on; the chat that delegated the task goes on without its result. ${whereId}`,
  },
}
