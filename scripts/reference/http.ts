import { tags } from '../../src/http/openapi/texts.ts'
import { listOperations, readSchemas, type Operation } from './operations.ts'
import { describeType, type Schema } from './schema-types.ts'
import { toAlternatives, toAnchorLink, toCode, toDefault, toFieldText, toMarkdown, toPage, toProse, toTable } from './markdown.ts'

/** The page of the HTTP routes, from the OpenAPI document. */
export async function httpPage(): Promise<string> {
  const head = { title: 'HTTP API', description: 'The routes of the OpenAPI document: permission, parameters, body, answers and errors.' }
  const [operations, schemas] = await Promise.all([listOperations(), readSchemas()])
  const sections = tags.map(({ name, description }) => {
    const routes = operations.filter(({ tag }) => tag === name)
    return [`## ${name}`, toProse(description), ...routes.map((route) => toRoute(route, schemas))].join('\n\n')
  })
  return toPage(head, [introduction, toContents(operations), ...sections])
}

const introduction = `The page to try routes is \`/docs/api/\` of a running service, the OpenAPI document is \`/openapi.json\`. Both need no key.

- **Access**: send the key as \`x-service-access: <key>\` or \`authorization: Bearer <key>\`. Each route states the [permission](permissions.md) that it
  needs.
- **Ids**: each answer has a \`request-id\`, and a \`session-id\` where it belongs to a session. Both may be sent.
- **Errors**: routes with a key may answer 401, 403, 429, 500 and 503, routes with a body 408, 413, 415 and 422. A route lists its other errors;
  [Errors](errors.md) has every error type.
- **Lists** are pages: send the \`offset\` of a page as \`before\` to get the next one, while \`has_more\` is true.
- **A prefix** in \`PUBLIC_URL\` stands in front of every path.`

function toContents(operations: readonly Operation[]): string {
  const rows = tags.flatMap(({ name }) =>
    operations
      .filter(({ tag }) => tag === name)
      .map((operation) => [toAnchorLink(toHeading(operation)), toProse(operation.summary), toPermission(operation)]),
  )
  return `## Routes\n\n${toTable(['Route', 'Summary', 'Permission'], rows)}`
}

function toHeading({ method, path }: Operation): string {
  return toCode(`${method} ${path}`)
}

function toPermission({ permissions, isPublic }: Operation): string {
  if (isPublic) return 'none, no key'
  return permissions.length === 0 ? 'any key' : toAlternatives(permissions.map(toCode))
}

function toRoute(operation: Operation, schemas: Readonly<Record<string, Schema>>): string {
  const { summary, description, parameters, body, responses } = operation
  const parts = [`### ${toHeading(operation)}`, `${toProse(summary)}. Permission: ${toPermission(operation)}.`]
  if (description !== undefined) parts.push(toMarkdown(description))
  const ownParameters = parameters.filter(({ name }) => name !== 'request-id')
  if (ownParameters.length > 0) parts.push(toParameters(ownParameters))
  for (const [type, { schema }] of Object.entries(body)) parts.push(toBody(type, schema, schemas))
  parts.push(toAnswers(responses))
  return parts.join('\n\n')
}

function toParameters(parameters: Operation['parameters']): string {
  const rows = parameters.map(({ name, in: place, required = false, schema, description = schema.description ?? '' }) => [
    toCode(name),
    place,
    describeType(schema),
    toFieldText({ description, isRequired: required, fallback: toDefault(schema.default) }),
  ])
  return toTable(['Parameter', 'In', 'Type', 'Description'], rows)
}

function toBody(type: string, schema: Schema, schemas: Readonly<Record<string, Schema>>): string {
  const name = schema.$ref?.split('/').at(-1)
  const { properties = {}, required = [] } = name === undefined ? schema : schemas[name]!
  const head = `Body, \`${type}\`${name === undefined ? '' : ` (\`${name}\`)`}`
  if (Object.keys(properties).length === 0) return `${head}: ${describeType(schema)}.`
  const rows = Object.entries(properties).map(([field, value]) => {
    const description = value.description ?? descriptionOf(value, schemas)
    const text = toFieldText({ description, isRequired: required.includes(field), fallback: toDefault(value.default) })
    return [toCode(field), describeType(value), text]
  })
  return `${head}:\n\n${toTable(['Field', 'Type', 'Description'], rows)}`
}

/** The description of the schema that a value refers to. */
function descriptionOf({ $ref, items, anyOf = [] }: Schema, schemas: Readonly<Record<string, Schema>>): string {
  const reference = $ref ?? items?.$ref ?? anyOf.find((choice) => choice.$ref ?? choice.description)?.$ref
  const name = reference?.split('/').at(-1)
  return (name === undefined ? anyOf.find(({ description }) => description !== undefined)?.description : schemas[name]?.description) ?? ''
}

/** Errors that the introduction states for all routes. */
const commonErrors: ReadonlySet<string> = new Set(['401', '403', '408', '413', '415', '422', '429', '500', '503'])

function toAnswers(responses: Operation['responses']): string {
  const answers = Object.entries(responses).filter(([status]) => !commonErrors.has(status))
  const lines = answers.map(([status, { description, content = {} }]) => {
    const types = Object.entries(content).map(([type, { schema = {} }]) => {
      const shape = schema.$ref === undefined ? '' : `\`${schema.$ref.split('/').at(-1)}\`, `
      return status.startsWith('2') ? `${shape}\`${type}\`` : ''
    })
    const shown = types.filter((text) => text !== '')
    return `- **${status}** ${toMarkdown(description.replace(/\.$/, ''))}${shown.length === 0 ? '' : ` (${shown.join('; ')})`}`
  })
  return `Answers:\n\n${lines.join('\n')}`
}
