import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { parseSync } from 'oxc-parser'

const ground = ['package-root', 'errors', 'concurrency', 'json', 'states']
const core = [...ground, 'replicas', 'agent', 'audit', 'access', 'configuration']
const nouns = ['files', 'sessions', 'artifacts', 'memory', 'sub-agents', 'uploads', 'knowledge', 'budgets']
const belowRuns = [...core, 'processes', 'search', ...nouns]
const edges = ['http', 'store', 'models', 'tools', 'outbound', 'metrics', 'tracing']
/** What each of the edges may import: an edge never imports another. */
const belowEdges = [...belowRuns, 'runs', 'schedules', 'evals', 'settings', 'tool-module']

/** What a folder of `src/`, a file in it, or the embedded model beside it may import besides itself: imports point inward only. */
const allowed: Record<string, readonly string[]> = {
  ...{
    'package-root': [],
    'error-types': [],
    errors: ['error-types'],
    concurrency: [],
    json: [],
    states: [],
    'tool-module': [],
    replicas: ground,
    agent: ground,
  },
  audit: [...ground, 'agent'],
  access: [...ground, 'replicas', 'agent', 'audit'],
  configuration: [...ground, 'replicas', 'agent', 'audit', 'access'],
  settings: [...ground, 'configuration'],
  processes: [...ground, 'agent', 'access'],
  search: [...ground, 'agent', 'access', 'processes'],
  ...Object.fromEntries(nouns.map((noun) => [noun, belowRuns])),
  runs: belowRuns,
  schedules: [...belowRuns, 'runs'],
  evals: [...belowRuns, 'runs'],
  ...Object.fromEntries(edges.map((edge) => [edge, belowEdges])),
  'demo-model': [...ground, 'agent'],
  models: [...belowEdges, 'demo-model'],
  service: [...belowEdges, ...edges],
  cli: [...belowEdges, ...edges, 'service', 'client'],
  main: ['cli'],
}
/** Folders that import no package, except its types, and of Node its own modules. */
const withoutPackages = ['agent', 'runs']

interface Import {
  specifier: string
  isType: boolean
}

const src = path.join(import.meta.dirname, '../../src')
const files = globSync(['**/*.ts', '../demo-model/**/*.ts'], { cwd: src }).filter((file) => !/\.test\.ts$|(^|[-/])fixture\.ts$/.test(file))
const imports = new Map(files.map((file) => [file, importsOf(file)]))

function importsOf(file: string): Import[] {
  const text = readFileSync(path.join(src, file), 'utf8')
  const { staticImports, staticExports, dynamicImports } = parseSync(file, text).module
  const dynamic = dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start, end))
  return [
    ...staticImports.map(({ moduleRequest, entries }) => ({
      specifier: moduleRequest.value,
      isType: entries.length > 0 && entries.every((entry) => entry.isType),
    })),
    ...staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest, isType }) => (moduleRequest ? [{ specifier: moduleRequest.value, isType }] : [])),
    ),
    ...dynamic.filter((literal) => /^'.*'$/.test(literal)).map((literal) => ({ specifier: literal.slice(1, -1), isType: false })),
  ]
}

/** The files that a file imports, relative to `src/`. */
function targetsOf(file: string): string[] {
  const relative = imports.get(file)!.filter(({ specifier }) => specifier.startsWith('.'))
  return relative.map(({ specifier }) => path.relative(src, path.resolve(src, path.dirname(file), specifier)))
}

/** The folder of a file directly under `src/`, or the name of a file in `src/` itself. The folders of the client and of the embedded model are `client` and `demo-model`. */
function folderOf(file: string): string {
  return file
    .replace(/^\.\.\//, '')
    .split('/')[0]!
    .replace(/\.ts$/, '')
}

test('imports point inward', () => {
  const faults = files.flatMap((file) => {
    const folder = folderOf(file)
    const isAllowed = (target: string) => folderOf(target) === folder || allowed[folder]?.includes(folderOf(target))
    return targetsOf(file).flatMap((target) => (isAllowed(target) ? [] : [`${file} imports ${target}`]))
  })
  assert.deepEqual(faults, [])
})

test('doors, resources and their schemas import in one direction', () => {
  const layers = ['http/doors/', 'http/resources/', 'http/schemas/']
  const layerOf = (file: string) => layers.find((layer) => file.startsWith(layer))
  const isFault = (from: string | undefined, to: string | undefined) => from && to && from !== to && to !== 'http/schemas/'
  const faults = files.flatMap((file) => targetsOf(file).filter((target) => isFault(layerOf(file), layerOf(target))))
  assert.deepEqual(faults, [])
})

test('one file loads the embedded model', () => {
  const isModel = (file: string) => folderOf(file) === 'demo-model'
  const importers = files.filter((file) => !isModel(file) && targetsOf(file).some(isModel))
  assert.deepEqual(importers, ['models/create-model.ts'])
})

test('the folders agent and runs import no package', () => {
  const guarded = files.filter((file) => withoutPackages.includes(folderOf(file)))
  const isPackage = ({ specifier, isType }: Import) => !isType && !/^(\.|node:)/.test(specifier)
  const faults = guarded.flatMap((file) =>
    imports
      .get(file)!
      .filter(isPackage)
      .map(({ specifier }) => `${file} imports ${specifier}`),
  )
  assert.deepEqual(faults, [])
})

test('the client imports its own files only', () => {
  const clientSource = path.join(src, '../client/src')
  const faults = globSync('**/*.ts', { cwd: clientSource }).flatMap((file) =>
    importsOf(path.join('../client/src', file))
      .map(({ specifier }) => (specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier))
      .filter((target) => !existsSync(path.join(clientSource, target)))
      .map((target) => `${file} imports ${target}`),
  )
  assert.deepEqual(faults, [])
})

test('no file imports itself through others, types included', () => {
  const finished = new Set<string>()
  const circleFrom = (file: string, above: readonly string[]): string[] | undefined => {
    if (above.includes(file)) return [...above.slice(above.indexOf(file)), file]
    if (finished.has(file)) return undefined
    for (const target of targetsOf(file).filter((name) => imports.has(name))) {
      const circle = circleFrom(target, [...above, file])
      if (circle) return circle
    }
    finished.add(file)
    return undefined
  }
  for (const file of files) assert.deepEqual(circleFrom(file, []), undefined)
})
