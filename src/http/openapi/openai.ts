import type { OperationTexts } from './named.ts'

const question = 'What were the total sales by region?'
const messages = [{ role: 'user', content: question }]

export const openAiTexts: OperationTexts = {
  postV1Embeddings: {
    description:
      'Turns texts into vectors with the model of `llms.embedding`, through the interface of OpenAI. 400: the provider refuses the texts or the `dimensions`. 404: another model, or none is configured. 413: the texts have more than `limits.max_input_characters` characters together. 502: the provider could not answer.',
    requests: {
      'application/json': {
        texts: { summary: 'Two texts', value: { model: 'text-embedding-3-small', input: ['a cup', 'a lamp'], encoding_format: 'float' } },
      },
    },
  },
  postV1ChatCompletions: {
    description: `Asks the agent through the interface of OpenAI's chat completions: point the base URL of a client at \`<address>/v1\`, use an access key as its API key and \`agent-core\` as the model. The agent's own tools run inside of the service; the reply has the answer alone, with thoughts in \`reasoning_content\`.

\`tools\` are run by the client. A call ends the reply with \`finish_reason: "tool_calls"\`; the next request brings the outputs as \`tool\` messages, and has the rest of the same run. Outputs that no run of the caller waits for are history.

With \`stream: true\` the reply is server-sent events with chunks, then \`[DONE]\`.

Every parameter has its effect, or is a 400 that names it; parameters that the service does not know are ignored with \`openai.unknown_parameters: ignore\` in agent.yaml. Errors have the shape of OpenAI's API. The header \`session-id\` continues a conversation. A chat whose call is not answered makes room for newer ones: a caller has at most 100 (\`limits.max_client_tool_waits\`), and outputs that come later are history.

The client usually sends the whole conversation. Without \`session-id\` each request is a session of its own.

404: the model is not this agent. 409, 410, 502: as for \`POST /core/v1/chain\`.`,
    requests: {
      'application/json': {
        question: { summary: 'A question', value: { model: 'agent-core', messages } },
        stream: {
          summary: 'A streamed answer',
          value: { model: 'agent-core', messages, stream: true, stream_options: { include_usage: true } },
        },
        file: {
          summary: 'A question about a file',
          value: {
            model: 'agent-core',
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'file', file: { filename: 'rules.md', file_data: 'IyBQYXJraW5nCgpWaXNpdG9ycyBwYXJrIGluIHRoZSB5YXJkLg==' } },
                  { type: 'text', text: 'Where do visitors park?' },
                ],
              },
            ],
          },
        },
        tools: {
          summary: 'A question, with a tool that the client runs',
          value: {
            model: 'agent-core',
            messages: [{ role: 'user', content: 'What is the weather in Basel?' }],
            tools: [
              {
                type: 'function',
                function: {
                  name: 'get_weather',
                  description: 'The weather in a city.',
                  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
                },
              },
            ],
          },
        },
      },
    },
  },
}
