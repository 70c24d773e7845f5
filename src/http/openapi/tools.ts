import type { OperationTexts } from './operation-text.ts'

export const toolTexts: OperationTexts = {
  getTools: {
    description:
      'The tools of the agent with the JSON Schema of their input. `status` is the real one: `initializing` while a server is not connected yet, `error` with the reason at the end of `description`. A server that has never connected is listed under the name of its entry.',
  },
  postToolExecute: {
    description: `Runs a tool without a model, for example to test it, or to use the agent as a gateway to its tools. The list and the input of each tool: \`GET /core/v1/tools\`.

A tool that ran and failed is 200 with \`status: "error"\` and \`output: {error}\`.

- 400 \`InvalidInput\`: a parameter of \`tool_input\` is missing or wrong; the message names it.
- 404: there is no such tool.
- 409 \`ApprovalRequired\`: calls of the tool need an approval, which only a chat can wait for.
- 503 \`ToolNotReady\`: the tool is not connected yet.`,
    requests: {
      'application/json': {
        calculator: {
          summary: 'Arithmetic',
          value: { tool_name: 'calculator', tool_input: { expression: '2340 * 0.17' } },
        },
        query: {
          summary: 'SQL over the sales figures, only those of the region North',
          value: {
            tool_name: 'sales',
            tool_input: { sql: 'SELECT product, sum(amount) AS amount FROM sales GROUP BY product ORDER BY amount DESC LIMIT 3' },
            data_filter_hints: [{ tool_name: 'sales', filter_key: 'region', filter_type: 'equals', filter_value: 'North' }],
          },
        },
      },
    },
  },
  getToolsChanged: {
    description:
      'Use it to review what a server wants to change before the agent uses it. The list of the sample agent is empty, since it has no MCP server.',
  },
  postToolsByNameAccept: {
    description: `Take name and hash from \`GET /core/v1/tools/changed\`. Without \`hash\`, whatever waits is accepted.

404: no definition of this tool waits. 409 \`DefinitionChanged\`: the definition that waits has another hash.`,
    requests: {
      'application/json': {
        reviewed: { summary: 'Accept the definition that was reviewed', value: { hash: '5f0c2a9b71d3e846' } },
      },
    },
  },
}
