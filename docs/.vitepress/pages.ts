import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** A group of pages in the navigation. */
export interface PageGroup {
  title: string
  /** Paths below `docs/`, without the extension. */
  pages: readonly string[]
}

/** A page that exists, with its frontmatter. */
export interface Page {
  /** Path below `docs/`, without the extension: `guides/streaming`. */
  name: string
  title: string
  /** One sentence. */
  description: string
}

/** All pages in reading order. */
export const pageGroups: readonly PageGroup[] = [
  { title: 'Start', pages: ['start/quick-start', 'start/real-model', 'guides/models', 'start/console'] },
  {
    title: 'Concepts',
    pages: inFolder('concepts', ['agent', 'run', 'session', 'step', 'effect', 'approval', 'tenant']),
  },
  {
    title: 'Chat',
    pages: inFolder('guides', [
      'streaming',
      'steering',
      'structured-output',
      'webhooks',
      'schedules',
      'context-files',
      'data-filters',
      'long-conversations',
      'memory',
      'planning',
    ]),
  },
  {
    title: 'Built-in tools',
    pages: inFolder('guides', [
      'calculator-and-time',
      'files',
      'tables',
      'python',
      'charts',
      'web',
      'knowledge-search',
      'documents',
      'provider-tools',
    ]),
  },
  {
    title: 'Your own tools',
    pages: inFolder('guides', [
      'custom-tools',
      'skills',
      'mcp-servers',
      'mcp-login',
      'openapi-services',
      'approvals',
      'containment',
      'sub-agents',
    ]),
  },
  {
    title: 'Clients and protocols',
    pages: inFolder('guides', [
      'typescript-client',
      'client-tools',
      'openai-clients',
      'anthropic-clients',
      'open-webui',
      'langchain',
      'ai-sdk',
      'ag-ui',
      'browsers',
      'mcp-clients',
      'a2a',
    ]),
  },
  {
    title: 'Operate',
    pages: inFolder('guides', [
      'configuration',
      'experiments',
      'access-keys',
      'budgets',
      'audit',
      'observability',
      'docker',
      'compose',
      'kubernetes',
      'postgres-and-s3',
      'backup',
      'upgrade',
      'sizing',
      'troubleshooting',
    ]),
  },
  {
    title: 'Reference',
    pages: [
      ...inFolder('reference', ['agent-yaml', 'environment', 'command-line', 'http', 'stream-events', 'errors', 'permissions', 'metrics']),
      'guarantees',
    ],
  },
  {
    title: 'Compare and migrate',
    pages: inFolder('compare', ['index', 'speed-and-size', 'from-openai-assistants', 'from-letta', 'from-langgraph']),
  },
]

function inFolder(folder: string, names: readonly string[]): string[] {
  return names.map((name) => `${folder}/${name}`)
}

const folder = path.join(import.meta.dirname, '..')

/** Reads the title and the description of a page. Undefined when the page does not exist. Throws an error when the frontmatter lacks one of them. */
export function readPage(name: string): Page | undefined {
  const file = path.join(folder, `${name}.md`)
  if (!existsSync(file)) return undefined
  const frontmatter = /^---\n([^]*?)\n---\n/.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
  const read = (field: string) => {
    const value = new RegExp(`^${field}: *(.+)$`, 'm').exec(frontmatter)?.[1]?.trim()
    if (value === undefined) throw new Error(`docs/${name}.md: the frontmatter lacks "${field}".`)
    return value.replace(/^(["'])(.*)\1$/, '$2')
  }
  return { name, title: read('title'), description: read('description') }
}
