import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import { en } from './en.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation'
    resources: { translation: typeof en }
  }
}

export const languages = [
  { code: 'en', name: 'English' },
  { code: 'zh', name: '中文' },
] as const
export type Language = (typeof languages)[number]['code']

const STORAGE_KEY = 'herald.language'

/** The stored choice, else the browser's language, else English. */
function initialLanguage(): Language {
  const stored = localStorage.getItem(STORAGE_KEY)
  if (stored === 'en' || stored === 'zh') return stored
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}

/** Most readers need one language. English is always there: its keys say which texts exist. */
async function load(language: Language): Promise<void> {
  if (language === 'en' || i18next.hasResourceBundle(language, 'translation')) return
  const { zh } = await import('./zh.ts')
  i18next.addResourceBundle(language, 'translation', zh)
}

export async function startLanguages(): Promise<void> {
  const lng = initialLanguage()
  await i18next.use(initReactI18next).init({
    lng,
    fallbackLng: false,
    resources: { en: { translation: en } },
    // React already escapes.
    interpolation: { escapeValue: false },
  })
  await load(lng)
  setDocumentLanguage()
}

export async function chooseLanguage(language: Language): Promise<void> {
  await load(language)
  localStorage.setItem(STORAGE_KEY, language)
  await i18next.changeLanguage(language)
  setDocumentLanguage()
}

function setDocumentLanguage(): void {
  document.documentElement.lang = i18next.language === 'zh' ? 'zh-CN' : 'en'
}
