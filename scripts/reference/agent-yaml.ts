import { toJsonSchema } from '../../src/configuration/schema-walk.ts'
import { maxTools } from '../../src/configuration/schema.ts'
import { toolTypes, type ToolType } from '../../src/configuration/tool-types.ts'
import { exampleOf, toolExampleOf } from './agent-yaml-examples.ts'
import { toAnchorLink, toCode, toCodeBlock, toDefault, toFieldText, toList, toPage, toProse, toTable } from './markdown.ts'
import { describeType, type Schema } from './schema-types.ts'

const document = toJsonSchema() as Schema as Schema & { $defs: Record<string, Schema> }
const fields = document.properties!

/** The page of agent.yaml, from its schema. */
export function agentYamlPage(): string {
  const head = {
    title: 'agent.yaml',
    description: 'Every field of agent.yaml: type, limits, default and meaning, with an example for each section.',
  }
  const sections = Object.keys(fields).filter(isSection)
  return toPage(head, [introduction, contents(sections), generalSection(), ...sections.map(toSection), toolTypesSection()])
}

const introduction = `agent.yaml describes the agent: its models, tools and limits. [Environment variables](environment.md) set what concerns the process, such as the
path of this file (\`AGENT_CONFIG\`).

- A saved change takes effect at once; an invalid one is reported in the log, and the running configuration stays. A run keeps the configuration
  that it started with.
- Every field may be left out and has a default. An unknown field is an error.
- Secrets and addresses may contain \`\${NAME}\`, which stands for an environment variable of the service. Names of the service's own secrets
  (\`DATABASE_URL\`, \`SECRET_KEY\`, \`CALLBACK_SECRET\`, \`AWS_*\`, \`S3_*\`) are refused.
- Paths of \`spec\` and \`path\` are relative to agent.yaml, paths of \`paths\` and \`tables\` to \`FILES_ROOT\`.
- \`npx --no-install agent-core config check\` prints a line for each problem. \`GET /core/v1/agent/config/schema\` returns the JSON Schema from which this page
  is made.`

function contents(sections: readonly string[]): string {
  const links = ['General', ...sections].map((name) => {
    const description = fields[name]?.description
    return `${toAnchorLink(name)}${description === undefined ? ': names, instructions and the limits of one chat.' : `: ${lowerFirst(description)}`}`
  })
  const types = Object.keys(toolTypes).map(toAnchorLink).join(', ')
  return `${toList(links)}\n- [Tool types](#tool-types): ${types}.`
}

function isSection(name: string): boolean {
  return exampleOf(name) !== undefined
}

function generalSection(): string {
  const names = Object.keys(fields).filter((name) => !isSection(name))
  const example =
    'name: Shop support\ndescription: Answers questions about orders.\ninstructions: |\n  You are the support agent of a shop.\nmax_iterations: 10'
  const properties = Object.fromEntries(names.map((name) => [name, fields[name]!]))
  return `## General\n\n${toFields({ properties })}\n\n${toCodeBlock('yaml', example)}`
}

function toSection(name: string): string {
  const schema = fields[name]!
  const parts = [`## ${name}`, toProse(schema.description ?? ''), toCodeBlock('yaml', exampleOf(name)!)]
  if (name === 'tools')
    parts.push(toFields(schema.items!), `At most ${maxTools} entries. The fields of \`config\` depend on the [type](#tool-types).`)
  else if (schema.items) parts.push(toFields(schema.items))
  else parts.push(toFields(schema))
  if (name === 'llms') parts.push(`### Fields of a model\n\n${toFields(schema.properties!['primary']!)}`)
  return parts.join('\n\n')
}

function toolTypesSection(): string {
  const types = Object.keys(toolTypes) as ToolType[]
  return `## Tool types\n\nThe \`type\` of a tool defaults to its \`name\`.\n\n${types.map(toToolType).join('\n\n')}`
}

function toToolType(type: ToolType): string {
  const schema = document.$defs[`tool_${type}`]!
  const hasFields = Object.keys(schema.properties ?? {}).length > 0
  return [
    `### ${type}`,
    toProse(schema.description ?? ''),
    toCodeBlock('yaml', toolExampleOf(type)),
    hasFields ? `Fields of \`config\`:\n\n${toFields(schema)}` : 'The type has no `config`.',
  ].join('\n\n')
}

/** The fields of a mapping; fields of inner mappings and of entries of lists follow with their path, except those of models, which have a section. */
function toFields(schema: Schema): string {
  return toFieldTable(listFields(schema, ''))
}

type Field = [path: string, schema: Schema, isRequired: boolean]

function listFields({ properties = {}, required = [] }: Schema, prefix: string): Field[] {
  return Object.entries(properties).flatMap(([name, schema]): Field[] => {
    const path = `${prefix}${name}`
    const values = Object.values(schema.patternProperties ?? {}).filter((value) => value.properties)
    const inner = isModel(schema) ? [] : listFields(schema, `${path}.`)
    const entries = !schema.items || isModel(schema.items) ? [] : listFields(schema.items, `${path}[].`)
    return [
      [path, schema, required.includes(name)],
      ...inner,
      ...entries,
      ...values.flatMap((value) => listFields(value, `${path}.<name>.`)),
    ]
  })
}

function toFieldTable(rows: readonly Field[]): string {
  return toTable(
    ['Field', 'Type', 'Description'],
    rows.map(([path, schema, isRequired]) => [
      toCode(path),
      toType(schema),
      toFieldText({ description: schema.description ?? '', isRequired, fallback: toDefault(schema.default) }),
    ]),
  )
}

function toType(schema: Schema): string {
  const values = Object.values(schema.patternProperties ?? {})
  if (isModel(schema)) return '[model](#fields-of-a-model)'
  if (schema.items && isModel(schema.items)) return 'list of [models](#fields-of-a-model)'
  if (schema.type === 'object' && values.length === 1 && schema.writeOnly !== true) return `mapping to ${describeType(values[0]!)}`
  return describeType(schema)
}

const isModel = ({ properties = {} }: Schema) => 'provider' in properties

function lowerFirst(text: string): string {
  return `${text[0]!.toLowerCase()}${text.slice(1)}`
}
