import type { Tool } from '@modelcontextprotocol/server'

export const askName = 'ask'

/** The MCP tool that asks the agent. `mayBeTask`: legacy clients may call it as a task. */
export function askTool({ name, description }: { name: string; description: string }, mayBeTask: boolean): Tool {
  return {
    name: askName,
    title: `Ask ${name}`,
    description: [`Asks the agent ${name} and returns its answer.`, description].filter((part) => part !== '').join(' '),
    ...(mayBeTask && { execution: { taskSupport: 'optional' } }),
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', minLength: 1, description: 'The question to the agent.' },
        session_id: {
          type: 'string',
          description:
            'The session_id of an earlier answer, to continue that conversation. Without a session_id a new conversation begins.',
        },
      },
      required: ['message'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        output: { type: 'string' },
        structured_output: { description: 'The value of `output`, where the agent answers with JSON that fits a schema.' },
        session_id: { type: 'string' },
        request_id: { type: 'string' },
        generated_artifacts: {
          type: 'array',
          description: 'Files that the agent made; each `download_url` works until `expires_at`.',
          items: {
            type: 'object',
            properties: {
              artifact_id: { type: 'string' },
              file_name: { type: 'string' },
              file_type: { type: 'string' },
              size: { type: 'integer' },
              download_url: { type: 'string' },
              expires_at: { type: 'string' },
            },
            required: ['artifact_id', 'file_name', 'file_type', 'size'],
          },
        },
        approval_required: {
          type: 'object',
          description: 'Tool calls that wait for the approval of a person; the output is the answer so far.',
          properties: {
            request_id: { type: 'string' },
            calls: {
              type: 'array',
              items: {
                type: 'object',
                properties: { tool_call_id: { type: 'string' }, tool: { type: 'string' }, tool_input: { type: 'object' } },
                required: ['tool_call_id', 'tool', 'tool_input'],
              },
            },
          },
          required: ['request_id', 'calls'],
        },
      },
      required: ['output', 'session_id', 'request_id'],
    },
  }
}
