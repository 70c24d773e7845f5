import { hash } from 'node:crypto'

/** The key of the pins of an MCP server: 12 hex digits of its address or command. References `${NAME}` count as they stand. */
export function serverKey({ url, command, args }: { url?: unknown; command?: unknown; args?: unknown }): string {
  return hash('sha256', JSON.stringify([url, command, args])).slice(0, 12)
}
