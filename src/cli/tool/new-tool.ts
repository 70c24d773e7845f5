import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { addEntry, toToolName, formatEntry, toModuleEntry } from './add-tool.ts'
import { editorSettings, findEditorOptions, findsTypes, writeNew } from '../project-files.ts'
import { readSettings } from '../prepare.ts'
import { CommandFailure, type CommandContext, type Terminal } from '../terminal.ts'

/** Adds the command that writes a tool of the operator. */
export function addNewTool(tool: Command, { terminal }: CommandContext): void {
  tool
    .command('new')
    .description('Write a TypeScript file with a working tool as a starting point.')
    .argument('<name>', 'name of the tool and its file', toToolName)
    .option('--description <text>', 'what the tool does and when to use it; the model decides by this text')
    .option(
      '--fields <list>',
      `fields of the input, such as from,to,amount:number (types: ${Object.keys(fieldTypes).join(', ')})`,
      toFields,
    )
    .addOption(new Option('--effect <effect>', 'whether a call changes something').choices(['read', 'write']).default('read'))
    .option('--dir <folder>', 'folder for the file (default: tools, next to agent.yaml)')
    .option('--add', 'also add the tool to agent.yaml')
    .action(async (name: string, options: NewOptions) => createTool(terminal, name, options))
}

interface NewOptions {
  description?: string
  fields?: readonly TemplateField[]
  effect?: 'read' | 'write'
  dir?: string
  add?: boolean
}

function toFields(list: string): TemplateField[] {
  const fields = list.split(',').map((item) => {
    const [name = '', type = 'string', ...rest] = item.trim().split(':')
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) || rest.length > 0)
      throw new InvalidArgumentError('A field must be a name of letters, digits and "_", or a name and a type, such as amount:number.')
    // In the source of an object, this name sets the prototype.
    if (name === '__proto__') throw new InvalidArgumentError('A field cannot have the name __proto__.')
    if (!Object.hasOwn(fieldTypes, type))
      throw new InvalidArgumentError(`The type of "${name}" must be one of ${Object.keys(fieldTypes).join(', ')}, but is "${type}".`)
    return { name, type: type as TemplateField['type'] }
  })
  const repeated = fields.find(({ name }, index) => fields.findIndex((field) => field.name === name) !== index)
  if (repeated) throw new InvalidArgumentError(`The field "${repeated.name}" is listed twice.`)
  return fields
}

async function createTool(terminal: Terminal, name: string, { dir, add, ...template }: NewOptions): Promise<void> {
  const settings = readSettings(terminal)
  const configDir = path.dirname(settings.agentConfig)
  const folder = dir === undefined ? path.join(configDir, 'tools') : path.resolve(terminal.cwd, dir)
  const file = path.join(folder, `${name}.ts`)
  const entry = toModuleEntry(name, path.relative(configDir, file))
  const display = (target: string) => path.relative(terminal.cwd, target) || target
  const print = (line = '') => terminal.stdout.write(`${line}\n`)
  // The entry is checked before any file is written.
  const change = add ? await addEntry(settings, entry) : undefined
  await mkdir(folder, { recursive: true })
  if (!(await writeNew(file, toolTemplate({ name, ...template }))))
    throw new CommandFailure(1, [`${display(file)} already exists; nothing was changed.`])
  print(`created ${display(file)}`)
  const forEditors = path.join(folder, 'tsconfig.json')
  if (await writeNew(forEditors, editorSettings(findEditorOptions(folder))))
    print(`created ${display(forEditors)}, by which editors find the types`)
  if (change) {
    await change.write()
    print(`added ${name} to ${display(settings.agentConfig)}`)
  } else {
    print(`\nAdd this entry to "tools" in ${display(settings.agentConfig)} (--add does so):\n`)
    print(`  ${formatEntry(entry)}`)
  }
  print(`\nTry it: ${terminal.command} tool check ${display(file)} --input '${JSON.stringify(exampleInput(template))}'`)
  print('A running service uses the tool once its configuration has the entry, and then each change that you save.')
  if (!findsTypes(folder))
    print(`Editors find the types of agent-core where it is installed: ${terminal.command} init makes such a folder.`)
}

/** Sources written by `agent-core tool new`. */

/** A field of the tool's input. */
interface TemplateField {
  name: string
  type: keyof typeof fieldTypes
}

interface TemplateOptions {
  /** Name of the tool. */
  name: string
  /** Description for the model. Default: the words of the name, and a request to complete them. */
  description?: string | undefined
  /** At least one field. Default: a field `query`. */
  fields?: readonly TemplateField[] | undefined
  effect?: 'read' | 'write' | undefined
}

/** Types of fields: the keywords of JSON Schema, as source text, and an example value. */
const fieldTypes = {
  string: { schema: `type: 'string', minLength: 1`, example: 'example' },
  number: { schema: `type: 'number'`, example: 1.5 },
  integer: { schema: `type: 'integer'`, example: 1 },
  boolean: { schema: `type: 'boolean'`, example: true },
  date: { schema: String.raw`type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$'`, example: '2026-01-31' },
} as const

const defaultFields: readonly TemplateField[] = [{ name: 'query', type: 'string' }]

/** The source of a tool that can be loaded and called as it is. */
function toolTemplate({ name, description, fields = defaultFields, effect = 'read' }: TemplateOptions): string {
  const text = description ?? `${toWords(name)}. Say here what the tool does, when to use it, and what it returns.`
  return `import { defineTool } from 'agent-core'

// Save this file while the service runs: the next chat uses the saved version.
export default defineTool({
  // The model decides by this text alone when to use the tool.
  description: ${quote(text)},
  // JSON Schema of the input. Input that does not match never reaches execute.
  schema: {
    type: 'object',
    properties: {
${fields.map(toProperty).join('\n')}
    },
    required: [${fields.map((field) => quote(field.name)).join(', ')}],
    additionalProperties: false,
  },
${effectLines[effect]}
  // The context has signal, headers, filters, log, artifact, callId and session.
  async execute(input, context) {
    context.log(${quote(`${name} was called.`)})
    // The work of the tool goes here. The model reads the returned JSON value, or the message of a thrown error.
    return { ${fields.map((field) => `${field.name}: input.${field.name}`).join(', ')} }
  },
})
`
}

const effectLines = {
  read: `  // 'read': may be called again after a crash, and in parallel with other calls. 'write': changes something, so a call is executed at most once.
  effect: 'read',`,
  write: `  // 'write': changes something, so a call is executed at most once. Other services can recognise a repeated request by context.callId.
  effect: 'write',`,
}

/** An input that matches the schema of the template. */
function exampleInput({ fields = defaultFields }: Pick<TemplateOptions, 'fields'>): Record<string, string | number | boolean> {
  return Object.fromEntries(fields.map(({ name, type }) => [name, fieldTypes[type].example]))
}

function toProperty({ name, type }: TemplateField): string {
  const note = type === 'date' ? `${toWords(name)}, such as ${fieldTypes.date.example}.` : `${toWords(name)}.`
  return `      ${name}: { ${fieldTypes[type].schema}, description: ${quote(note)} },`
}

/** `fromCurrency` and `from_currency` become `From currency`. */
function toWords(name: string): string {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A string literal of TypeScript. */
function quote(text: string): string {
  return /['\\\p{Cc}]/u.test(text) ? JSON.stringify(text) : `'${text}'`
}
