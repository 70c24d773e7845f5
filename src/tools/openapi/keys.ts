/** Assigns unique property names of a tool input that every provider accepts (`[A-Za-z0-9_.-]{1,64}`). */
export interface Keys {
  /** Reserves the first free name of the wishes, or else the last wish with a number. */
  take(...wishes: string[]): string
  isFree(name: string): boolean
}

const maxKeyCharacters = 64

export function createKeys(): Keys {
  const usedKeys = new Set<string>()

  function take(...wishes: string[]): string {
    const fit = wishes.map(fitKey)
    const last = fit.at(-1) ?? 'value'
    let key = fit.find((candidate) => !usedKeys.has(candidate)) ?? last
    for (let n = 2; usedKeys.has(key); n++) key = `${last.slice(0, maxKeyCharacters - 1 - String(n).length)}_${n}`
    usedKeys.add(key)
    return key
  }

  return { take, isFree: (name) => !usedKeys.has(fitKey(name)) }
}

/** Makes a name valid: `filter[name]` becomes `filter_name`. */
function fitKey(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, maxKeyCharacters)
  return plain.replace(/^_+|(?<!_)_+$/g, '') === '' ? 'value' : plain === name ? name : plain.replace(/(?<!_)_+$/, '')
}
