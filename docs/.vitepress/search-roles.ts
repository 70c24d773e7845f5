import type { Plugin } from 'vitepress'

/**
 * Changes the roles in the search window of VitePress, which is a button with an input inside: screen readers then show neither the input nor
 * the results. It becomes a dialog with a combobox, whose options are the links.
 */
export const searchRoles: Plugin = {
  name: 'agent-core:search-roles',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/VPLocalSearchBox.vue')) return null
    return { code: replacements.reduce(replace, code), map: null }
  },
}

const replacements: readonly (readonly [RegExp, string])[] = [
  [
    /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"\s+aria-labelledby="localsearch-label"/,
    'role="dialog" aria-modal="true" :aria-label="buttonText"',
  ],
  [/aria-autocomplete="both"/, `role="combobox" :aria-expanded="results?.length ? 'true' : 'false'" aria-autocomplete="list"`],
  [/:id="'localsearch-item-' \+ index"\s+:aria-selected="[^"]*"\s+role="option"/, 'role="none"'],
  [
    /:aria-label="\[\.\.\.p\.titles, p\.title\]\.join\(' > '\)"/,
    `:id="'localsearch-item-' + index" :aria-selected="selectedIndex === index ? 'true' : 'false'" role="option"`,
  ],
  [/<span class="title-icon">/, '<span class="title-icon" aria-hidden="true">'],
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
]

function replace(code: string, [part, replacement]: readonly [RegExp, string]): string {
  if (!part.test(code))
    throw new Error(`The search window of VitePress has no ${part.source} any more: adapt docs/.vitepress/search-roles.ts.`)
  return code.replace(part, replacement)
}
