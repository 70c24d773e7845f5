import type { CpuProfile, ProfileNode } from './profiler.ts'

/**
 * Layers of the service, in the order of the table. The first layer that matches a function is the function's layer. A function without a layer
 * belongs to its caller.
 */
const layers: readonly (readonly [layer: string, isPart: (frame: Frame, caller: Frame | undefined) => boolean])[] = [
  ['garbage collection', ({ name }) => name === '(garbage collector)'],
  ['event loop, system calls', ({ name, url }) => name === '(program)' || isNode(url, /process\/(task_queues|promises)|timers/)],
  // `commitAll` contains only the statements that begin and commit a transaction.
  ['SQLite: begin and commit', ({ name, url }, caller) => isSqlite(name, url, caller) && caller?.name === 'commitAll'],
  ['SQLite: statements', ({ name, url }, caller) => isSqlite(name, url, caller)],
  ['store', ({ url }) => isSource(url, /store\//) || isPackage(url, /kysely/)],
  ['pg', ({ url }) => isPackage(url, /pg|pg-[a-z-]+|postgres-[a-z-]+/)],
  ['undici', ({ url }) => isPackage(url, /undici/)],
  ['model client', ({ url }) => isSource(url, /models\//) || isPackage(url, /eventsource-parser/)],
  ['logging', ({ url }) => isPackage(url, /pino|sonic-boom|quick-format-unescaped|safe-stable-stringify/)],
  ['Fastify', ({ url }) => isPackage(url, /fastify|find-my-way|fast-querystring|secure-json-parse|light-my-request|toad-cache|reusify/)],
  ['validation', ({ url, name }) => isPackage(url, /ajv/) || (url === '' && /^validate\d+$/.test(name))],
  ['node:http', ({ url, name }) => isNode(url, /_http_|http/) || (url === '' && /parserOn|^execute$/.test(name))],
  [
    'node: sockets and streams',
    ({ url, name }) => isNode(url, /net|stream|writeBuffer|buffer/) || (url === '' && /^write[A-Z]/.test(name)),
  ],
  ['routes, authentication', ({ url }) => isSource(url, /http\/|access\//)],
  ['life of a run', ({ url }) => isSource(url, /runs\/|sessions\/|memory\/|sub-agents\/|configuration\/|service\/|tools\/|concurrency\//)],
  ['agent loop', ({ url }) => isSource(url, /agent\//)],
  ['metrics, traces', ({ url }) => isSource(url, /metrics\/|tracing\//) || isPackage(url, /@prometheus-io|@opentelemetry/)],
  ['other code of the service', ({ url }) => isSource(url, /./)],
  ['other code of Node', ({ url }) => isNode(url, /./)],
]

interface Frame {
  name: string
  url: string
}

const rest = 'other'

/** Names of all layers, in the order of the table. */
export const layerNames: readonly string[] = [...layers.map(([layer]) => layer), rest]

/** Microseconds of each layer in a profile of the main thread; time without work is left out. */
export function timesOfLayers({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const layerOf = layersOfNodes(nodes)
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    // A sample stands for the time until the next sample.
    const us = Math.max(0, timeDeltas[index + 1] ?? 0)
    const layer = layerOf.get(id)
    if (layer !== undefined) times.set(layer, (times.get(layer) ?? 0) + us)
  }
  return times
}

/** The layer of each node; undefined for a node that stands for an idle process. */
function layersOfNodes(nodes: readonly ProfileNode[]): Map<number, string | undefined> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const layerOf = new Map<number, string | undefined>()
  const visit = (node: ProfileNode, caller: Frame | undefined, layerOfCaller: string) => {
    const frame = { name: node.callFrame.functionName, url: node.callFrame.url }
    const layer = layers.find(([, isPart]) => isPart(frame, caller))?.[0] ?? layerOfCaller
    layerOf.set(node.id, frame.name === '(idle)' ? undefined : layer)
    for (const child of node.children ?? []) visit(byId.get(child)!, frame, layer)
  }
  visit(nodes[0]!, undefined, rest)
  return layerOf
}

function isNode(url: string, part: RegExp): boolean {
  return url.startsWith('node:') && part.test(url)
}

function isSource(url: string, part: RegExp): boolean {
  const [, file] = /\/(?:src|dist)\/(?!.*node_modules)(.*)$/.exec(url) ?? []
  return file !== undefined && new RegExp(`^(?:src/)?(?:${part.source})`).test(file)
}

function isPackage(url: string, name: RegExp): boolean {
  return new RegExp(`/node_modules/(?:${name.source})/`).test(url)
}

function isSqlite(name: string, url: string, caller: Frame | undefined): boolean {
  return url === '' && /^(exec|run|all|get|prepare)$/.test(name) && caller !== undefined && isSource(caller.url, /store\/sqlite\//)
}
