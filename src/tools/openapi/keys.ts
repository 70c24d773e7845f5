/** Names of a tool's input: each once, and such as every provider takes (`[A-Za-z0-9_.-]{1,64}`). */
export interface Keys {
  /** The first of the wishes that is free, else the last with a number. */
  take(...wishes: string[]): string
  isFree(name: string): boolean
}

const longest = 64

export function createKeys(): Keys {
  const taken = new Set<string>()

  function take(...wishes: string[]): string {
    const fit = wishes.map(fitKey)
    const last = fit.at(-1) ?? 'value'
    let key = fit.find((one) => !taken.has(one)) ?? last
    for (let n = 2; taken.has(key); n++) key = `${last.slice(0, longest - 1 - String(n).length)}_${n}`
    taken.add(key)
    return key
  }

  return { take, isFree: (name) => !taken.has(fitKey(name)) }
}

/** `filter[name]` as `filter_name`. */
function fitKey(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, longest)
  return plain.replace(/^_+|(?<!_)_+$/g, '') === '' ? 'value' : plain === name ? name : plain.replace(/(?<!_)_+$/, '')
}
