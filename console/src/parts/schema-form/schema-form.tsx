import { Button, Fieldset, Input, NumberInput, Select, Stack, Switch, Textarea, TextInput } from '@mantine/core'
import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { JsonField } from './json-field.tsx'
import { initialValue, kindOf, resolveSchema, type FormSchema } from './schema.ts'

interface SchemaFormProps {
  /** JSON Schema of the value. What no input can show is edited as JSON. */
  schema: unknown
  value: unknown
  onChange: (value: unknown) => void
  /** Called with true if every JSON text in the form can be parsed. The service checks the value. */
  onValidity?: (isValid: boolean) => void
  disabled?: boolean
}

/** A form made from a JSON Schema. */
export function SchemaForm({ schema, value, onChange, onValidity, disabled = false }: SchemaFormProps) {
  const root = (typeof schema === 'object' && schema !== null ? schema : {}) as FormSchema
  return <Field schema={root} name="Input" value={value} onChange={onChange} context={{ root, disabled, onValidity }} isRoot />
}

interface FieldProps {
  schema: FormSchema
  name: string
  value: unknown
  /** Called with `undefined` where the value is left out. */
  onChange: (value: unknown) => void
  context: { root: FormSchema; disabled: boolean; onValidity: ((isValid: boolean) => void) | undefined }
  isRequired?: boolean
  isRoot?: boolean
}

function Field(props: FieldProps) {
  const schema = resolveSchema(props.schema, props.context.root)
  const kind = kindOf(schema)
  // An absent object shows no fields: the schema may contain itself.
  if (kind === 'object' && props.value === undefined && !props.isRoot) return <AbsentObject {...props} schema={schema} />
  if (kind === 'object' && isKind(props.value, 'object')) return <ObjectField {...props} schema={schema} />
  if (kind === 'array' && isKind(props.value, 'array')) return <ListField {...props} schema={schema} />
  const { name, value, onChange, isRequired, context } = props
  const shared = { label: schema.title ?? name, description: schema.description, required: isRequired, disabled: context.disabled }
  if (kind === 'choice') {
    const values = new Map((schema.enum ?? []).map((choice) => [String(choice), choice]))
    const current = value === undefined || value === null ? null : `${value as string | number | boolean}`
    return (
      <Select
        {...shared}
        data={[...values.keys()]}
        value={current}
        onChange={(text) => onChange(text === null ? undefined : values.get(text))}
        clearable={!isRequired}
      />
    )
  }
  if (kind === 'boolean' && (value === undefined || typeof value === 'boolean'))
    return <Switch {...shared} checked={value ?? false} onChange={(event) => onChange(event.currentTarget.checked)} />
  if (kind === 'number' && (value === undefined || typeof value === 'number')) {
    const isInteger = schema.type === 'integer' || (Array.isArray(schema.type) && schema.type.includes('integer'))
    const limits = { min: schema.minimum, max: schema.maximum, allowDecimal: !isInteger, clampBehavior: 'none' as const }
    return (
      <NumberInput
        {...shared}
        {...limits}
        value={value ?? ''}
        onChange={(number) => onChange(number === '' ? undefined : Number(number))}
      />
    )
  }
  if (kind === 'string' && (value === undefined || typeof value === 'string')) {
    const text = {
      ...shared,
      value: value ?? '',
      onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value || undefined),
    }
    const isShort = schema.format !== undefined || (schema.maxLength ?? Infinity) <= 80
    return isShort ? <TextInput {...text} /> : <Textarea {...text} autosize minRows={1} maxRows={12} />
  }
  return <JsonField {...shared} value={value} onChange={onChange} onValidity={context.onValidity} />
}

function AbsentObject({ schema, name, onChange, context, isRequired }: FieldProps) {
  const label = schema.title ?? name
  return (
    <Input.Wrapper label={label} labelElement="div" description={schema.description} required={isRequired}>
      <div>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<PlusIcon size={14} />}
          disabled={context.disabled}
          onClick={() => onChange(initialValue(schema, context.root) ?? {})}
        >
          Add {label}
        </Button>
      </div>
    </Input.Wrapper>
  )
}

function ObjectField({ schema, name, value, onChange, context, isRequired, isRoot }: FieldProps) {
  const members = (value ?? {}) as Record<string, unknown>
  const change = (member: string, content: unknown) => {
    const { [member]: _removed, ...rest } = members
    onChange(content === undefined ? rest : { ...members, [member]: content })
  }
  const fields = (
    <Stack gap="sm">
      {Object.entries(schema.properties ?? {}).map(([member, content]) => (
        <Field
          key={member}
          schema={content}
          name={member}
          value={members[member]}
          onChange={(changed) => change(member, changed)}
          context={context}
          isRequired={schema.required?.includes(member) ?? false}
        />
      ))}
      {!isRoot && isRequired === false && (
        <div>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            leftSection={<TrashIcon size={12} />}
            disabled={context.disabled}
            onClick={() => onChange(undefined)}
          >
            Remove {schema.title ?? name}
          </Button>
        </div>
      )}
    </Stack>
  )
  return isRoot ? fields : <Fieldset legend={schema.title ?? name}>{fields}</Fieldset>
}

function ListField({ schema, name, value, onChange, context }: FieldProps) {
  const elements = (value ?? []) as unknown[]
  const { title: itemName, ...items } = schema.items ?? {}
  return (
    <Fieldset legend={schema.title ?? name}>
      <Stack gap="sm">
        {elements.map((element, index) => (
          <div key={index}>
            <Field
              schema={items}
              name={`${itemName ?? name} ${index + 1}`}
              value={element}
              onChange={(changed) => onChange(elements.with(index, changed ?? null))}
              context={context}
            />
            <Button
              mt={4}
              size="compact-xs"
              variant="subtle"
              color="gray"
              leftSection={<TrashIcon size={12} />}
              disabled={context.disabled}
              onClick={() => onChange(elements.toSpliced(index, 1))}
            >
              Remove {itemName ?? name} {index + 1}
            </Button>
          </div>
        ))}
        <div>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<PlusIcon size={14} />}
            disabled={context.disabled}
            onClick={() => onChange([...elements, initialValue(items, context.root) ?? emptyOf(resolveSchema(items, context.root))])}
          >
            Add {itemName ?? `to ${name}`}
          </Button>
        </div>
      </Stack>
    </Fieldset>
  )
}

function emptyOf(schema: FormSchema): unknown {
  const empty = { object: {}, array: [], string: '', number: 0, boolean: false, choice: schema.enum?.[0], json: null }
  return empty[kindOf(schema)]
}

function isKind(value: unknown, kind: 'object' | 'array'): boolean {
  if (value === undefined) return true
  return kind === 'array' ? Array.isArray(value) : typeof value === 'object' && value !== null && !Array.isArray(value)
}
