import { NativeSelect } from '@mantine/core'
import { useTranslation } from 'react-i18next'

type Props = {
  label: string
  value: string
  /** Shown untranslated. Default: yes and no. */
  options?: readonly (string | number)[]
  onChange(value: string): void
}

/** Select for an API field with a few values, which may also be unset. */
export function ChoiceInput({ label, value, options, onChange }: Props) {
  const { t } = useTranslation()
  return (
    <NativeSelect
      label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={[
        { value: '', label: t('app.notSet') },
        ...(options?.map(String).map((option) => ({ value: option, label: option })) ?? [
          { value: 'true', label: t('app.yes') },
          { value: 'false', label: t('app.no') },
        ]),
      ]}
    />
  )
}
