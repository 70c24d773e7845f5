import { rootPlace, placeUnder, type Place } from './leaves.ts'
import { isData, own } from './merge.ts'
import { nameOf } from './elements.ts'

/** A part of the configuration that has secrets of its own and says where they go: a model, a tool. */
export interface Entry extends Place {
  /** The same before and after a change: `llms.primary`, `tools[orders]`. Undefined for what has no name: an element of `llms.fallback`. */
  readonly id: string | undefined
}

/** What of an entry says to whom its secrets go. */
const addressFields = ['provider', 'type', 'base_url', 'url', 'spec', 'command'] as const

export function entriesOf(data: unknown): Entry[] {
  const root = rootPlace(data)
  const under = (place: Place): Place[] =>
    isData(place.value)
      ? Object.keys(place.value).map((key) => placeUnder(place, key))
      : Array.isArray(place.value)
        ? [...place.value.keys()].map((index) => placeUnder(place, index))
        : []
  const models = under(placeUnder(root, 'llms')).flatMap((place): Entry[] =>
    Array.isArray(place.value) ? under(place).map((one) => ({ ...one, id: undefined })) : [{ ...place, id: place.at.join('.') }],
  )
  const tools = under(placeUnder(root, 'tools')).map((place): Entry => {
    const name = nameOf(place.value)
    return { ...place, id: name === undefined ? undefined : `tools[${name}]` }
  })
  return [...models, ...tools]
}

/** The fields that say where an entry's secrets go, each with its value; those of a tool's `config` too. */
export function addressOf({ value, at }: Entry): Record<string, unknown> {
  const isTool = at[0] === 'tools'
  const kind = isTool ? { type: own(value, 'type') ?? own(value, 'name') } : {}
  const fields = (holder: unknown, prefix: string) =>
    addressFields.flatMap((field) => {
      const found = own(holder, field)
      return found === undefined ? [] : [[`${prefix}${field}`, found] as const]
    })
  return Object.fromEntries([
    ...fields(value, ''),
    ...fields(own(value, 'config'), 'config.'),
    ...Object.entries(kind),
    ['kind', isTool ? 'tool' : 'model'],
  ])
}
