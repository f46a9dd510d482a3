import { isPackageName } from '@herald/domain'
import { TextInput, type TextInputProps } from '@mantine/core'
import { useTranslation } from 'react-i18next'

/** Whether the text is neither blank nor a package name. */
export const packageProblem = (text: string) => text.trim() !== '' && !isPackageName(text.trim())

type Props = { value: string; onChange(value: string): void } & Pick<TextInputProps, 'className' | 'miw'>

export function PackageInput({ value, onChange, ...rest }: Props) {
  const { t } = useTranslation()
  return (
    <TextInput
      {...rest}
      label={t('applications.packageName')}
      placeholder="com.example.shop"
      value={value}
      maxLength={255}
      spellCheck={false}
      error={packageProblem(value) && t('applications.packageBad')}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}
