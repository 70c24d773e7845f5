import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client'
import { limits } from './limits.ts'
import { isDeeper } from '../../json/shape.ts'

/** Accepts every result: the check of the SDK would reject the whole list for a single invalid tool. */
export const anySchema: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'agent-core', validate: (value) => ({ value }) },
}

/** All pages of the tool list of a server. Rejects when the list is malformed, too long or endless. */
export async function listTools(client: Client, signal: AbortSignal): Promise<unknown[]> {
  if (!client.getServerCapabilities()?.tools) return []
  const tools: unknown[] = []
  let cursor: string | undefined
  let characters = 0
  for (let page = 0; page < limits.listPages; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const answer = await client.request({ method: 'tools/list', params }, anySchema, { signal })
    const { tools: pageTools, nextCursor } = Object(answer) as Record<string, unknown>
    if (!Array.isArray(pageTools)) throw new Error('The server does not list its tools as the protocol requires.')
    for (const tool of pageTools) {
      // A tool that is nested too deeply cannot be serialised; the name is kept, so that the tool is listed with a fault.
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
