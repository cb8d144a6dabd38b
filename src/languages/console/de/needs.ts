export default {
  lead: 'Was auf Ihre Entscheidung wartet, das Dringendste zuerst, und dann, was geschehen ist.',
  nothing: 'Sie müssen nichts tun',
  nothingLead:
    'Einladungen, neue Geräte und geänderte Schlüssel erscheinen hier, sobald sie ankommen.',
  list: 'Was auf Sie wartet',

  notice: 'Prüfen Sie Ihr Konto',

  keys: 'Geänderte Schlüssel: {name}',
  keysText:
    'Vergleichen Sie die Sicherheitsnummer, bevor Sie sich auf die Wörter dieser Person verlassen. Alle ihre Geräte wurden ersetzt: von ihr selbst oder von einem Angreifer.',
  keysUnused:
    'Der Wiederherstellungsschlüssel wurde nicht benutzt. Fragen Sie die Person auf einem Weg, dem Sie vertrauen, ob sie ihre Geräte ersetzt hat.',
  compare: 'Sicherheitsnummer vergleichen',
  compareText:
    'Lassen Sie sich die Nummer vorlesen, die das Gerät der Person zeigt: persönlich oder bei einem Anruf, für den eine Seite eine schon bekannte Nummer gewählt hat. Es muss diese Nummer sein:',
  safetyNumber: 'Sicherheitsnummer',
  noNumber: 'Es gibt noch keine Sicherheitsnummer, weil die Person keine Schlüssel hat.',
  allSame: 'Alle 60 Ziffern sind gleich',
  differ:
    'Wenn die Nummern noch verschieden sind, nachdem beide Seiten abgeglichen haben, bestätigen Sie nichts: Zwischen Ihren Geräten kann ein Angreifer sein.',
  confirmed: 'Sie haben die Schlüssel von {name} bestätigt.',

  fork: 'Zwei Verläufe: {name}',
  forkText:
    'Der Kontoserver hat zwei verschiedene Verläufe dieser Verbindung gezeigt. Ihre Wörter beweisen jetzt nichts. Verlassen Sie sich nicht darauf.',
  forkReplaced: 'Eine andere Verbindung ersetzt sie. Benutzen Sie diese.',
  forkWait:
    'Wenn innerhalb eines Tages keine Verbindung sie ersetzt, bitten Sie einen Besitzer um eine neue.',
  toReplacement: 'Zum Ersatz',
  toConnection: 'Zur Verbindung',

  device: 'Neues Gerät: {name}',
  deviceText:
    'Es wartet auf Ihre Bestätigung und bekommt vorher nichts. Wenn Sie sich nicht gerade auf einem neuen Gerät angemeldet haben, lehnen Sie es ab.',
  since: 'Angefragt {when}',
  approveDevice: 'Bestätigen …',
  decline: 'Ablehnen',
  declineDevice: 'Gerät ablehnen',
  declineDeviceText:
    'Das Gerät wird abgemeldet und bekommt nichts. Wenn es Ihres ist, können Sie sich darauf wieder anmelden.',
  deviceDeclined: 'Sie haben das Gerät {name} abgelehnt.',

  invitation: 'Einladung zu {connection}',
  from: 'Von: {name}',
  fromMail: 'Von: {name}, {email}',
  until: 'Endet {when}',
  invitationText:
    'Wenn Sie annehmen, haben die Mitglieder und Sie bei Anrufen Wörter füreinander. Fragen Sie zuerst auf einem Weg, dem Sie vertrauen, ob die Einladung echt ist.',
  approve: 'Annehmen',
  hasWords: 'Ich habe vier Wörter zu dieser Einladung bekommen',
  wordsHint:
    'Tippen Sie nur Wörter, die Ihnen die einladende Person persönlich gesagt hat oder bei einem Anruf, für den eine Seite eine schon bekannte Nummer gewählt hat. Richtige Wörter bestätigen auch die Schlüssel beider Seiten, als hätten Sie die Sicherheitsnummer verglichen.',
  fourWords: 'Vier Wörter zu dieser Einladung',
  approveWithWords: 'Mit den Wörtern annehmen',
  approved:
    'Sie haben die Einladung zu {connection} angenommen. Ein Gerät der einladenden Person fügt Sie hinzu, meist innerhalb von Sekunden.',
  declineInvitation: 'Einladung ablehnen',
  declineInvitationText:
    'Die einladende Person sieht, dass Sie abgelehnt haben. Um später beizutreten, brauchen Sie eine neue Einladung.',
  invitationDeclined: 'Sie haben die Einladung zu {connection} abgelehnt.',

  contactOpenText:
    'Das Gerät der einladenden Person vergleicht die Wörter, die Sie getippt haben. Das dauert Sekunden, wenn es eingeschaltet ist.',
  wordsWrong:
    'Das sind nicht die Wörter, die das Gerät der einladenden Person zeigt. Es wurde nichts angenommen. Wörter erlauben nur einen Versuch: Lassen Sie sich neue geben.',
  wordsOver:
    'Diese Wörter gelten nicht mehr. Es wurde nichts angenommen. Lassen Sie sich neue geben.',
  wordsOften:
    'In 15 Minuten wurden dreimal Wörter probiert. Es wurde nichts angenommen. Warten Sie 15 Minuten und lassen Sie sich neue Wörter geben, oder nehmen Sie ohne Wörter an und vergleichen Sie die Sicherheitsnummer.',
  wordsDiffer:
    'Der Kontoserver hat den beiden Geräten verschiedene Daten gezeigt. Es wurde nichts bestätigt. Vergleichen Sie die Sicherheitsnummer mit der einladenden Person.',

  request: 'Anfrage: {name}',
  requestText:
    'Die Adresse ist geprüft. Der Name ist es nicht: Jeder kann jeden Namen benutzen. Wenn Sie annehmen, bekommen Sie eine neue Verbindung, und die Person bekommt eine Einladung dazu per Mail.',
  requestVia: 'Über Ihren offenen Link {link}',
  requestApproved: 'Sie haben die Anfrage angenommen. {email} bekommt eine Einladung per Mail.',
  declineRequest: 'Anfrage ablehnen',
  declineRequestText: 'Die Person bekommt keine Nachricht und kann wieder anfragen.',
  requestDeclined: 'Sie haben die Anfrage von {email} abgelehnt.',

  guest: 'Gastcode: {name}',
  guestText:
    'Nach dem Ende zeigt die Gastseite keine Wörter mehr. Wenn Ihr Gast noch Wörter braucht, erstellen Sie einen neuen Link und geben Sie ihn weiter.',
  newLink: 'Neuen Link erstellen',
  letEnd: 'Enden lassen',
  guestMade:
    'Geben Sie Ihrem Gast diesen Link. Er wird nur jetzt gezeigt, und wer ihn hat, sieht die Wörter Ihres Gastes.',
  guestLink: 'Link für {name}',
  toGuest: 'QR-Code und Mail',
  guestLeft: 'Der Gastcode von {name} endet von selbst.',
  done: 'Fertig',

  sync: 'Der letzte Abgleich ist fehlgeschlagen',
  syncNow: 'Jetzt abgleichen',
  synced: 'Der Abgleich ist gelungen.',

  notifications: 'Mitteilungen',
  markRead: 'Als gelesen markieren',
  markAllRead: 'Alle als gelesen markieren',
  markedRead: {
    one: 'Eine Mitteilung ist als gelesen markiert.',
    other: '{count} Mitteilungen sind als gelesen markiert.',
  },
  more: { one: 'Noch eine zeigen', other: 'Noch {count} zeigen' },
  open: 'Öffnen',

  desktop: 'Mitteilungen auf dem Desktop',
  desktopText:
    'Dieses Fenster kann eine Mitteilung zeigen, wenn etwas Neues auf Sie wartet, während Sie es nicht ansehen. Sie nennt Personen und Geräte, niemals Wörter.',
  allow: 'Mitteilungen erlauben',
  desktopOn:
    'Dieses Fenster zeigt eine Mitteilung, wenn etwas Neues auf Sie wartet, während Sie es nicht ansehen. Um das zu beenden, ändern Sie die Berechtigungen dieser Adresse in Ihrem Browser.',
  desktopDenied:
    'Ihr Browser blockiert Mitteilungen dieser Adresse. Um sie zu erlauben, ändern Sie die Berechtigungen dieser Adresse in Ihrem Browser.',

  newNotice: 'Prüfen Sie Ihr Konto',
  newKeys: 'Die Schlüssel von „{name}“ haben sich geändert',
  newFork: 'Die Verbindung „{name}“ hat zwei Verläufe',
  newDevice: 'Das Gerät „{name}“ wartet auf Ihre Bestätigung',
  newInvitation: '„{name}“ lädt Sie zu „{connection}“ ein',
  newInvitationBare: 'Sie sind zu „{connection}“ eingeladen',
  newRequest: '„{name}“ bittet um eine Verbindung',
  newGuest: 'Der Gastcode von „{name}“ endet bald',
  newSync: 'Der letzte Abgleich ist fehlgeschlagen',
  newNotification: 'Sie haben eine neue Mitteilung',
  newBody: 'Die Entscheidung treffen Sie auf der Seite „Für Sie“.',
} as const
