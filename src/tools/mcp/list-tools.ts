import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client'
import { limits } from './limits.ts'
import { isDeeper } from '../../agent/json-depth.ts'

/** The SDK's own check would take the whole list away for one tool that is wrong. */
const anything: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'agent-core', validate: (value) => ({ value }) },
}

/** All pages of a server's tools. Rejects where it has none to an end. */
export async function listTools(client: Client, signal: AbortSignal): Promise<unknown[]> {
  if (!client.getServerCapabilities()?.tools) return []
  const tools: unknown[] = []
  let cursor: string | undefined
  let characters = 0
  for (let page = 0; page < limits.listPages; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const answer = await client.request({ method: 'tools/list', params }, anything, { signal })
    const { tools: some, nextCursor } = Object(answer) as Record<string, unknown>
    if (!Array.isArray(some)) throw new Error('The server does not list its tools as the protocol wants it.')
    for (const tool of some) {
      // What is nested without end can't even be written; its name stays, to be listed with its fault.
      const bounded = isDeeper(tool, 2 * limits.schemaDepth) ? { name: Object(tool)['name'] } : tool
      characters += JSON.stringify(bounded)?.length ?? 0
      if (characters > limits.listCharacters) throw new Error(`The list of tools is longer than ${limits.listCharacters / 1024 / 1024} MB.`)
      tools.push(bounded)
    }
    if (typeof nextCursor !== 'string') return tools
    cursor = nextCursor
  }
  throw new Error(`The list of tools has more than ${limits.listPages} pages.`)
}
