// Light, dark, or as the system has it. Kept in this browser.
export type Theme = 'system' | 'light' | 'dark'

const key = 'kndl.theme'
const system = window.matchMedia('(prefers-color-scheme: dark)')

export function currentTheme(): Theme {
  const kept = localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

function apply() {
  const theme = currentTheme()
  const dark = theme === 'dark' || (theme === 'system' && system.matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

export function setTheme(theme: Theme) {
  if (theme === 'system') localStorage.removeItem(key)
  else localStorage.setItem(key, theme)
  apply()
}

export function followTheme() {
  apply()
  system.addEventListener('change', apply)
}
