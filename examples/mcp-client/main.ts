import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const url = new URL('/mcp', process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080')
const headers = { 'x-service-access': process.env.AGENT_CORE_KEY ?? '' }

const client = new Client({ name: 'mcp-client-example', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))

/** Asks the agent. Its steps arrive as progress. `session_id` continues a conversation. */
async function ask(message: string, sessionId?: string): Promise<string> {
  console.log(`> ${message}`)
  const answer = await client.callTool(
    { name: 'ask', arguments: { message, ...(sessionId && { session_id: sessionId }) } },
    { onprogress: ({ message: step }) => console.log(`[${step}]`) },
  )
  if (answer.isError) throw new Error(JSON.stringify(answer.content))
  const { output, session_id } = answer.structuredContent as { output: string; session_id: string }
  console.log(`${output}\n`)
  return session_id
}

try {
  const { tools } = await client.listTools()
  console.log(`${tools.map(({ name }) => name).join(', ')}\n`)

  const sessionId = await ask('How many units were sold in the North region?')
  await ask('And in the South?', sessionId)

  // The tools of the agent can be called directly, without a language model.
  const { structuredContent } = await client.callTool({ name: 'sales', arguments: { sql: 'SELECT count(*) AS orders FROM sales' } })
  console.log(JSON.stringify(structuredContent))
} finally {
  await client.close()
}
