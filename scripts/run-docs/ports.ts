import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** The port that the documentation gives to the service. */
const servicePort = '8080'

/**
 * Returns a function that replaces every port of a local address, except the service's, by a free port: two runs of the documentation
 * on one machine do not meet.
 */
export async function mapPorts(texts: string[]): Promise<(text: string) => string> {
  const named = texts.flatMap((text) => [...text.matchAll(/\b(?:127\.0\.0\.1|localhost):(\d{4,5})\b/g)].map(([, port]) => port!))
  const ports = [...new Set(named)].filter((port) => port !== servicePort)
  if (ports.length === 0) return (text) => text
  const free = await findFreePorts(ports.length)
  const byPort = new Map(ports.map((port, index) => [port, free[index]!]))
  return (text) => text.replace(new RegExp(`\\b(?:${ports.join('|')})\\b`, 'g'), (port) => byPort.get(port)!)
}

/** Replaces the address of the documentation by the address of the service. */
export function mapServicePort(text: string, port: string): string {
  return text.replace(new RegExp(`\\b(127\\.0\\.0\\.1|localhost):${servicePort}\\b`, 'g'), `$1:${port}`)
}

/** Below the ports that systems give to outgoing connections, so that no connection takes a port before the page does. */
async function findFreePorts(count: number): Promise<string[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = randomInt(20_000, 32_000)
    if (await isFree(port)) found.add(port)
  }
  return [...found].map(String)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
