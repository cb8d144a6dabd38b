/** The German messages of pages and letters. They address the reader with „Sie“. */
import { translation } from './translation.ts'

export const de = translation({
  frame: {
    server: 'auf {host}',
    needsScript:
      'Diese Seite prüft alles in Ihrem Browser und braucht dafür JavaScript. Es wurde noch nichts geprüft. Erlauben Sie JavaScript für diese Seite und laden Sie sie neu.',
  },

  guest: {
    eyebrow: 'Gastseite',
    title: 'Anrufe mit {owner}',
    about:
      'Dies ist eine Seite von {owner} auf {host}. Drei Wörter zeigen, dass wirklich Sie beide miteinander telefonieren.',
    madeFor: 'Erstellt für {guest}.',
    worksUntil: 'Die Seite funktioniert bis zum {time}.',
    whoCalled: 'Wer hat angerufen?',
    called: 'Ich wurde angerufen',
    calledSteps:
      'Erst prüfen Sie die Wörter der anderen Person. Dann zeigt diese Seite Ihre Wörter.',
    calling: 'Ich rufe an',
    callingSteps: 'Erst sagen Sie Ihre Wörter. Dann prüfen Sie die Wörter der anderen Person.',
    similarWords: 'Ähnliche Wörter aus der Liste',
    checkTheirs: 'Prüfen Sie die Wörter der anderen Person',
    askCaller: 'Lassen Sie sich drei Wörter sagen.',
    notYoursYet: 'Sagen Sie Ihre Wörter noch nicht.',
    askTheirs: 'Sagen Sie zuerst Ihre Wörter. Lassen Sie sich dann die anderen Wörter sagen.',
    heard: 'Die drei Wörter, die Sie hören',
    check: 'Prüfen',
    sayYours: 'Sagen Sie Ihre Wörter',
    validity: 'Diese Wörter gelten bis {time} Uhr. Neue Wörter in {seconds}.',
    startAgain: 'Von vorn beginnen',
    remove: 'Diesen Code von diesem Gerät entfernen',
    proof: 'Was die Wörter beweisen und was nicht',
    proofOfSecret:
      'Sie beweisen, dass die andere Person in dieser Minute das Geheimnis Ihres Links hat. Sie beweisen nicht, dass die Namen oben stimmen: Das Konto hat sie selbst gewählt.',
    proofOnce:
      'Diese Seite nimmt Wörter nur einmal an: in der Minute, in der sie angezeigt werden, in der Minute davor oder in der Minute danach.',
    proofRelay:
      'Sie schützen nicht vor einer Person, die Ihr Gespräch mithört und jedes Wort sofort weitergibt.',
    proofServer:
      'Das Geheimnis bleibt in diesem Browser. Die Seite kommt aber von einem Server, und ein unehrlicher Server könnte eine Seite schicken, die das Geheimnis ausliest. Auch im Verlauf Ihres Browsers kann Ihr Link stehen.',
    proofLink: 'Wer Ihren Link hat, kann Ihre Wörter sehen. Geben Sie den Link nicht weiter.',
    doNotTrust: 'Vertrauen Sie keinem Anruf, bei dem Sie nach Wörtern dieser Seite gefragt werden',
    remedy:
      'Einen neuen Link bekommen Sie von {owner}. Rufen Sie dafür eine Nummer an, die Sie schon haben.',
    withdrawnTitle: 'Dieser Code wurde zurückgezogen',
    withdrawn: '{owner} hat diesen Code zurückgezogen. Seine Wörter beweisen nichts mehr.',
    expiredTitle: 'Dieser Code ist abgelaufen',
    expired: 'Der Code von {owner} galt nur eine bestimmte Zeit, und diese Zeit ist vorbei.',
    unknownTitle: 'Diesen Code gibt es nicht',
    cannotCheck: 'Diese Seite kann keinen Anruf prüfen',
    unknown:
      'Vielleicht ist der Link unvollständig oder enthält einen Tippfehler, oder der Code wurde gelöscht. Öffnen Sie den vollständigen Link, den Sie bekommen haben, oder scannen Sie den QR-Code noch einmal.',
  },

  guestScript: {
    right: 'Es ist {owner}.',
    nowSayYours: 'Sagen Sie jetzt Ihre Wörter:',
    talk: 'Sie können jetzt reden.',
    doNotSayYours: 'Sagen Sie Ihre Wörter nicht.',
    used: 'Diese Wörter wurden schon benutzt.',
    usedNext:
      'Vertrauen Sie niemandem, der alte Wörter wiederholt. Lassen Sie sich die nächsten Wörter sagen, oder legen Sie auf.',
    own: 'Das sind Ihre eigenen Wörter.',
    ownNext: 'Wer sie wiederholt, beweist damit nichts.',
    hangUp: 'Legen Sie auf.',
    wrong: 'Das sind nicht die Wörter von {owner}.',
    doNotTrust: 'Vertrauen Sie diesem Anruf nicht.',
    wrongNext:
      'Vielleicht haben Sie sich verhört: Dann lassen Sie sich die Wörter noch einmal sagen. Sonst legen Sie auf und rufen Sie eine Nummer an, die Sie schon haben.',
    unknownWord: '„{word}“ steht nicht in der Wortliste.',
    didYouHear: 'Haben Sie eines dieser Wörter gehört?',
    askToRepeat: 'Bitten Sie die andere Person, das Wort zu wiederholen.',
    typeThree: 'Tippen Sie die drei Wörter ein, die Sie hören.',
    count: {
      one: 'Das ist {count} Wort. Tippen Sie drei Wörter ein.',
      other: 'Das sind {count} Wörter. Tippen Sie drei Wörter ein.',
    },
    wereRight:
      'Um {time} Uhr stimmten die Wörter von {owner}. Für einen neuen Anruf brauchen Sie neue Wörter.',
    insecure:
      'Die Verbindung zu dieser Seite ist nicht sicher. Deshalb zeigt die Seite keine Wörter. Öffnen Sie die Adresse, die mit https beginnt.',
    incompleteLink: 'Der Link ist nicht vollständig.',
    noCode: 'Dieser Browser hat Ihren Code nicht.',
    openLink:
      'Um einen Anruf zu prüfen, öffnen Sie den vollständigen Link, den Sie bekommen haben, oder scannen Sie den QR-Code noch einmal.',
    stored:
      'Dieser Browser speichert den Code. Sie können die Seite also neu laden. Wenn das nicht Ihr eigenes Gerät ist, entfernen Sie den Code nach dem Anruf.',
    notStored:
      'Dieser Browser speichert den Code nicht. Wenn Sie die Seite neu laden, öffnen Sie den vollständigen Link noch einmal.',
    removed:
      'Der Code wurde entfernt. Um wieder einen Anruf zu prüfen, öffnen Sie den vollständigen Link, den Sie bekommen haben.',
    ahead: 'Die Uhr dieses Geräts geht {duration} vor, verglichen mit der Uhr des Servers.',
    behind: 'Die Uhr dieses Geräts geht {duration} nach, verglichen mit der Uhr des Servers.',
    setClock:
      'Die Wörter auf dieser Seite richten sich nach der Uhr des Servers. Sie stimmen also. Stellen Sie die Uhr dieses Geräts.',
    seconds: { one: '{count} Sekunde', other: '{count} Sekunden' },
    minutes: { one: '{count} Minute', other: '{count} Minuten' },
    hours: { one: '{count} Stunde', other: '{count} Stunden' },
    days: { one: '{count} Tag', other: '{count} Tage' },
  },

  stamp: {
    eyebrow: 'Stempel',
    heading: 'Prüfen Sie eine gestempelte Datei',
    yourFile: 'Ihre Datei',
    choose: 'Wählen Sie eine Datei',
    drop: 'oder ziehen Sie sie hierher',
    stays: 'Ihr Browser vergleicht die Datei. Sie wird nirgendwohin geschickt.',
    whoSigned: 'Wer signiert hat',
    details: 'Einzelheiten',
    limits: 'Wovor diese Seite Sie nicht schützen kann',
    limitsText:
      'Das Skript dieser Seite kommt vom Server. Ein unehrlicher Server könnte ein Skript schicken, das jede Datei annimmt. Auch die Geräteliste des Kontos und der Schlüssel, mit dem Quittungen geprüft werden, kommen vom Server. Um einen Stempel zu prüfen, ohne einem Server zu vertrauen, nehmen Sie die Befehlszeile und den Wurzelwert (root), den Sie von der Person bekommen haben, die signiert hat: {command}',
    unknownTitle: 'Stempel nicht gefunden',
    unknownHeading: 'Diesen Stempel gibt es hier nicht',
    notChecked: 'Es wurde nichts geprüft',
    unknown:
      'Vielleicht ist der Link unvollständig oder enthält einen Tippfehler, oder er gehört zu einem anderen Server. Bitten Sie die Person, von der Sie den Link haben, um den vollständigen Link.',
    haveFile: 'Wenn Sie den Stempel als Datei haben',
    checkFile: 'Auf einem Computer mit Countersign können Sie die Datei ohne diese Seite prüfen:',
  },

  stampScript: {
    checking: 'Wird geprüft …',
    checkingText: 'Ihr Browser prüft den Stempel.',
    notChecked: 'Es wurde nichts geprüft',
    notFetched:
      'Der Stempel ließ sich nicht laden. Versuchen Sie es gleich noch einmal: Laden Sie die Seite neu.',
    insecure:
      'Die Verbindung zu dieser Seite ist nicht sicher. Deshalb prüft die Seite nichts. Öffnen Sie die Adresse, die mit https beginnt.',
    refused: 'Verlassen Sie sich nicht auf diesen Stempel',
    found: 'Signatur gefunden. Prüfen Sie jetzt Ihre Datei',
    foundText: 'Ein Stempel gilt für genau eine Datei. Wählen Sie die Datei, die Sie haben.',
    incomplete: 'Ihr Link ist unvollständig',
    incompleteText:
      'Der Teil nach „#“ fehlt. Deshalb kann diese Seite nicht prüfen, ob der Link für diesen Stempel gemacht wurde. Bitten Sie um den vollständigen Link.',
    comparing: 'Ihre Datei wird verglichen …',
    sameIncomplete: 'Die Datei stimmt überein, aber Ihr Link ist unvollständig',
    same: 'Das ist die gestempelte Datei',
    sameBy:
      '{file} ist Byte für Byte die Datei, die ein Konto mit dem Namen {signer} signiert hat.',
    sameByUnnamed:
      '{file} ist Byte für Byte die Datei, die ein Konto ohne signierten Namen signiert hat.',
    different: 'Das ist nicht die gestempelte Datei',
    differentText:
      '{file} ist eine andere Datei oder wurde nach dem Signieren geändert. Verlassen Sie sich nicht darauf.',
    fileNotChecked: 'Ihre Datei wurde nicht geprüft',
    tooLarge:
      '{file} ist größer als 1 GiB und damit zu groß für einen Browser. Verwenden Sie auf einem Computer mit Countersign {command}',
    unreadable: 'Der Browser konnte {file} nicht lesen. Wählen Sie eine Datei und keinen Ordner.',
    name: 'Name',
    noName: 'Kein signierter Name',
    noNameNote:
      'Fragen Sie die Person, von der Sie den Link haben, welches Konto ihr gehört. Das Konto steht unter „Einzelheiten“.',
    nameNote: 'Das Konto hat diesen Namen selbst gewählt und signiert.',
    replaced:
      'Alle Geräte dieses Kontos wurden mindestens einmal ersetzt. Vergewissern Sie sich, dass das Konto noch derselben Person gehört.',
    known: 'Was über das Konto bekannt ist',
    device: 'Ein Gerät dieses Kontos hat signiert. Wer das Gerät benutzt, bestätigt nichts.',
    verified_email:
      'Das Konto hatte eine E-Mail-Adresse bestätigt, als der Server den Stempel bekam.',
    organisation:
      'Das Konto war aktives Mitglied einer Organisation, als der Server den Stempel bekam.',
    onlyReceipt: 'Nur eine Quittung des Servers könnte mehr beweisen.',
    byReceipt: 'Laut der Quittung dieses Servers.',
    signed: 'Signiert',
    bySigner: 'Nach Angabe des Kontos, das signiert hat.',
    inFuture: 'Nach der Uhr des Servers liegt diese Zeit in der Zukunft.',
    received: 'Beim Server angekommen',
    noReceipt: 'Noch keine Quittung. Die Zeit bestätigt nur das Konto, das signiert hat.',
    context: 'Zusammenhang',
    account: 'Konto',
    root: 'Wurzelwert (root) des Kontos',
    rootNote:
      'Der Wurzelwert kennzeichnet die Schlüssel des Kontos. Vergleichen Sie ihn mit dem Wurzelwert, den Sie von der Person bekommen haben, die signiert hat.',
    signingDevice: 'Gerät, das signiert hat',
    deviceKey: 'Schlüssel des Geräts',
    digest: 'SHA-256 der Datei',
    length: 'Länge',
    bytes: { one: '{count} Byte', other: '{count} Bytes' },
    mediaType: 'Medientyp',
    notGiven: 'nicht angegeben',
    words: 'Wörter',
    wordsNote: 'Die Wörter helfen nur, einen Stempel zu finden. Sie beweisen nie etwas.',
    secondsAfter1970: '{count} Sekunden nach 1970',
  },

  stampFaults: {
    other_stamp: 'Dieser Link wurde für einen anderen Stempel gemacht oder verändert.',
    other_id: 'Die Kennung des Stempels ist nicht die Kennung in der Adresse.',
    malformed: 'Der Server hat Daten geschickt, die kein Stempel sind.',
    rule: 'Der Stempel verletzt eine Regel, die für jeden Stempel gilt.',
    bad_signature:
      'Die Signatur ist falsch: Der Stempel wurde geändert, oder ein anderer Schlüssel hat ihn signiert.',
    kid_mismatch:
      'Der Schlüssel, der ihn signiert hat, ist nicht der Schlüssel des Geräts, das darin steht.',
    unknown_signer: 'Er wurde mit einem Schlüssel signiert, der dafür nicht gilt.',
    revoked_signer: 'Das Gerät, das ihn signiert hat, war schon widerrufen.',
    revoked_key:
      'Der Schlüssel, der ihn signiert hat, ist widerrufen, und keine Quittung zeigt, dass der Server den Stempel vorher bekam.',
    key_log_mismatch:
      'Die mitgelieferte Geräteliste ist nicht die Liste, mit der er gemacht wurde.',
    wrong_version:
      'Er wurde mit einer Version des Protokolls gemacht, die hier nicht unterstützt wird.',
    wrong_account: 'Die mitgelieferte Geräteliste gehört zu einem anderen Konto.',
    account_mismatch: 'Die ersten Schlüssel der Geräteliste passen nicht zur Kennung des Kontos.',
    key_log_forked: 'Die mitgelieferte Geräteliste widerspricht sich selbst.',
    gap: 'Die mitgelieferte Geräteliste ist unvollständig.',
    receipt_mismatch: 'Die mitgelieferte Quittung gehört zu einem anderen Stempel.',
    assurance_claimed:
      'Er behauptet eine Stufe der Gewissheit, die nur eine Quittung des Servers beweisen kann.',
  },

  confirm: {
    eyebrow: 'Postfach',
    confirm: 'Bestätigen',
    reject: 'Das war ich nicht',
    untilThen:
      'Solange Sie nicht bestätigen, geschieht nichts. Sie können diese Seite auch einfach schließen.',
    rejectedTitle: 'Es wurde nichts bestätigt',
    rejected:
      'Der Link in der Mail funktioniert nicht mehr. Wenn Sie wieder eine solche Mail bekommen, brauchen Sie nichts zu tun: Ohne die Mail kann niemand etwas für Ihr Postfach bestätigen.',
    endedTitle: 'Dieser Link gilt nicht mehr',
    ended:
      'Der Link wurde schon benutzt, oder er ist abgelaufen. Was Sie damit bestätigt haben, bleibt bestätigt. Sonst wiederholen Sie den Schritt, zu dem Sie die Mail bekommen haben, und nehmen Sie den Link in der neuesten Mail.',
    addressTitle: 'Bestätigen Sie Ihre Adresse',
    address: 'Adresse',
    account: 'Konto',
    addressText:
      'Wenn Sie bestätigen, wird diese Adresse eine Adresse dieses Kontos. Wer einen Code bekommt, der an sie geschickt wird, kann sich damit am Konto anmelden. Einladungen an sie erreichen das Konto. Bestätigen Sie nur, wenn es Ihr Konto ist.',
    takenTitle: 'Diese Adresse gehört schon zu einem Konto',
    taken:
      '{address} gehört schon zu einem Konto auf diesem Server, und eine Adresse kann nur zu einem Konto gehören. Es wurde nichts geändert. Wenn das Konto Ihnen gehört, melden Sie sich dort mit dieser Adresse an.',
    addedTitle: 'Ihre Adresse ist bestätigt',
    added: '{address} ist jetzt eine Adresse dieses Kontos. Sie können diese Seite schließen.',
    askTitle: 'Um Verbindung bitten?',
    asked: 'Sie bitten',
    yourName: 'Ihr Name',
    yourAddress: 'Ihre Adresse',
    yourMessage: 'Ihre Nachricht',
    askText:
      'Wenn Sie bestätigen, sieht diese Person Ihren Namen, Ihre Adresse und Ihre Nachricht und nimmt Ihre Anfrage an oder lehnt sie ab. Die Namen werden nicht geprüft: Jeder kann jeden Namen benutzen.',
    sentTitle: 'Ihre Anfrage ist abgeschickt',
    sent: '{owner} kann jetzt Ihre Anfrage sehen, mit Ihrem Namen, Ihrer Nachricht und {address}. Wenn Ihre Anfrage angenommen wird, kommt eine Einladung in dieses Postfach. Sie können diese Seite schließen.',
  },

  openLink: {
    eyebrow: 'Offener Link',
    headed: '{heading}: {title}',
    rule: 'Bitten Sie {owner} um eine Verbindung.',
    caution:
      'Jeder kann jeden Namen benutzen. Machen Sie nur weiter, wenn Sie diesen Link von dieser Person selbst bekommen haben, auf einem Weg, dem Sie schon vertrauen.',
    faulty: 'Ihre Anfrage wurde nicht abgeschickt. Berichtigen Sie die markierten Felder.',
    notSent: 'Nicht abgeschickt',
    name: 'Ihr Name',
    email: 'Ihre E-Mail-Adresse',
    emailHint:
      'Wir schicken einen Link an diese Adresse, um zu prüfen, dass sie Ihnen gehört. Ihre Anfrage wird erst abgeschickt, wenn Sie den Link öffnen und bestätigen.',
    message: 'Ihre Nachricht (freiwillig)',
    send: 'Um Verbindung bitten',
    becomes: 'Was mit Ihrer Anfrage geschieht',
    becomesFirst: 'Sie öffnen den Link in unserer Mail und bestätigen.',
    becomesThen:
      '{owner} sieht Ihren Namen, Ihre Adresse und Ihre Nachricht und nimmt die Anfrage an oder lehnt sie ab. Wird sie abgelehnt, bekommen Sie keine Mail.',
    becomesLast:
      'Wird sie angenommen, bekommen Sie eine Einladung per Mail. Danach erkennen Sie einander am Telefon an drei Wörtern.',
    noName: 'Geben Sie Ihren Namen ein.',
    noEmail: 'Geben Sie Ihre E-Mail-Adresse ein, zum Beispiel name@example.org.',
    tooLong: {
      one: 'Höchstens {count} Zeichen ist erlaubt.',
      other: 'Höchstens {count} Zeichen sind erlaubt.',
    },
    badCharacters: 'Steuerzeichen und Zeichen, die die Schreibrichtung ändern, sind nicht erlaubt.',
    openMailbox: 'Öffnen Sie Ihr Postfach',
    mailed:
      'Wir haben Ihnen einen Link geschickt. Öffnen Sie ihn innerhalb eines Tages und bestätigen Sie. Dann sieht {owner} Ihre Anfrage.',
    noMail:
      'Keine Mail bekommen? Sehen Sie im Ordner für unerwünschte Mails nach, und prüfen Sie Ihre Adresse auf Tippfehler. Wir schicken in einer Stunde nur wenige solche Mails an eine Adresse, und keine, solange hier schon eine Anfrage dieser Adresse wartet.',
    paused: 'Vorübergehend geschlossen',
    pausedTitle: 'Dieser Link ist vorübergehend geschlossen',
    pausedText:
      '{owner} nimmt hier zurzeit keine Anfragen an. Es wurde nichts abgeschickt. Versuchen Sie es später noch einmal, oder fragen Sie diese Person auf einem anderen Weg.',
    full: 'Zu viele Anfragen',
    fullTitle: 'Zurzeit fragen zu viele Menschen an',
    fullText:
      'Dieser Link nimmt vorerst keine Anfragen mehr an. Es wurde nichts abgeschickt. Versuchen Sie es später noch einmal.',
    unknown: 'Link nicht gefunden',
    unknownTitle: 'Diesen Link gibt es nicht',
    unknownText:
      'Vielleicht enthält die Adresse einen Tippfehler, oder der Link wurde gelöscht oder hat eine neue Adresse. Fragen Sie die Person, von der Sie den Link haben, nach dem neuen.',
  },

  home: {
    title: 'Wer ist wirklich am Telefon?',
    about:
      'Eine Stimme lässt sich nachahmen. Mit Countersign sagt der Anrufer drei Wörter, die jede Minute wechseln. Nur Sie und die echte Person können sie berechnen. Dieser Server, {host}, führt die Konten von Menschen, die Countersign benutzen.',
    link: 'Sie haben einen Link bekommen',
    linkText:
      'Öffnen Sie den vollständigen Link, mit dem Teil nach „#“. Er zeigt Ihre Wörter für Anrufe mit einer Person. Diese Adresse allein zeigt nichts über irgendjemanden.',
    stamp: 'Sie wollen eine gestempelte Datei prüfen',
    stampPage:
      'Öffnen Sie den Link des Stempels, und wählen Sie dort Ihre Datei. Die Seite ist nur dann grün, wenn die Datei genau die unterschriebene ist. Ihr Browser vergleicht sie und sendet sie nirgendwohin.',
    stampFile: 'Wenn Sie den Stempel als Datei haben, prüft Countersign ihn auf Ihrem Computer:',
    call: 'Sie telefonieren gerade',
    callText:
      'Wer anruft, sagt seine Wörter zuerst. Sagen Sie Ihre erst, wenn die Prüfung die richtige Person gezeigt hat. Sind die Wörter falsch, legen Sie auf, und rufen Sie eine Nummer an, die Sie schon haben.',
    invited: 'Sie wurden eingeladen',
    invitedText:
      'Sie brauchen das Programm {program}. Fragen Sie die Person, die Sie eingeladen hat, oder den Betreiber dieses Servers, wo Sie es bekommen. Dann melden Sie sich hier mit der eingeladenen Adresse an:',
  },

  letters: {
    hours: { one: '{count} Stunde', other: '{count} Stunden' },
    days: { one: '{count} Tag', other: '{count} Tage' },
    minutes: { one: '{count} Minute', other: '{count} Minuten' },
    times: { one: '{count} Mal', other: '{count} Mal' },
    message: 'Die Nachricht dieser Person:\n{message}',
    requests: {
      one: '{count} Anfrage wartet auf Ihre Antwort.',
      other: '{count} Anfragen warten auf Ihre Antwort.',
    },
    withKey: `waren ein Anmeldecode und die Wörter eines Wiederherstellungsschlüssels
Ihres Kontos nötig. Die früheren Geräte sind abgemeldet. Wer Schlüssel
angenommen hat, zu denen dieser Wiederherstellungsschlüssel gehört, muss Sie
nicht neu bestätigen. Alle anderen Kontakte müssen es.`,
    withoutKey: `war ein Anmeldecode nötig. Die früheren Geräte sind abgemeldet, und
Ihre Kontakte werden gebeten, Sie neu zu bestätigen.`,
  },

  codeLetter: {
    subject: 'Ihr Anmeldecode für {host}',
    text: `Guten Tag,

eine Person, vermutlich Sie, meldet sich mit dieser Adresse am
Countersign-Kontoserver {server} an. Der Code lautet:

    {code}

Tippen Sie ihn auf dem Gerät ein, auf dem Sie die Anmeldung begonnen haben. Er
gilt {minutes} und für ein Gerät. Geben Sie ihn niemandem: Wer Sie danach
fragt, will sich als Sie anmelden.

Wenn Sie das nicht waren, brauchen Sie nichts zu tun. Ohne den Code geschieht
nichts.
`,
  },

  deviceAddedLetter: {
    subject: 'Ein neues Gerät in Ihrem Konto auf {host}',
    text: `Guten Tag,

ein neues Gerät, {device},
wurde zu Ihrem Konto auf
{server} hinzugefügt. Ein anderes Ihrer Geräte hat es
bestätigt.

Wenn Sie das waren, brauchen Sie nichts zu tun.

Wenn Sie das nicht waren, widerrufen Sie das neue Gerät sofort, auf einem
Gerät, dem Sie vertrauen:

    countersignd device list
    countersignd device revoke <das Gerät>
`,
  },

  recoveryKeyLetter: {
    subject: 'Ein neuer Wiederherstellungsschlüssel für Ihr Konto auf {host}',
    text: `Guten Tag,

das Gerät {device}
hat einen Wiederherstellungsschlüssel für Ihr Konto auf
{server} gemacht. Wer dessen 24 Wörter hat
und dieses Postfach lesen kann, kann alle Ihre Geräte ersetzen. Ihre Kontakte
müssen die neuen Schlüssel dann nicht bestätigen.

Wenn Sie das waren, brauchen Sie nichts zu tun.

Wenn Sie das nicht waren, setzen Sie das Konto zurück, auf einem Gerät, dem
Sie vertrauen, und ohne Wiederherstellungsschlüssel. Es genügt nicht, das
Gerät zu widerrufen, denn der Wiederherstellungsschlüssel bliebe gültig.

    countersignd reset --email <diese Adresse>

Vergleichen Sie danach mit jedem Kontakt die Sicherheitsnummer. Solange ein
Kontakt Ihre neuen Schlüssel nicht bestätigt hat, nimmt sein Gerät ein
Zurücksetzen mit jenen Wörtern an.
`,
  },

  resetLetter: {
    subject: 'Alle Geräte Ihres Kontos auf {host} wurden ersetzt',
    text: `Guten Tag,

alle Geräte Ihres Kontos auf {server}
wurden durch ein neues ersetzt, {device}.
Dafür {recovery}

Wenn Sie das waren, brauchen Sie nichts zu tun.

Wenn Sie das nicht waren, kann vielleicht eine andere Person Ihre Mails lesen.
Geben Sie zuerst Ihrem Postfach ein neues Passwort. Setzen Sie dann das Konto
selbst zurück:

    countersignd reset --email <diese Adresse>

Wenn Sie die 24 Wörter Ihres Wiederherstellungsschlüssels haben, fügen Sie
--recovery-key hinzu.
`,
  },

  confirmAddressLetter: {
    subject: 'Bestätigen Sie Ihre Adresse für {host}',
    text: `Guten Tag,

eine Person, die sich so nennt:
    {person}
möchte diese Adresse zu ihrem Konto hinzufügen,
auf dem Countersign-Kontoserver
    {server}

Wenn Sie das sind, öffnen Sie innerhalb von {hours} diese Seite, und
bestätigen Sie dort die Adresse:

    {link}

Wenn Sie das nicht sind, brauchen Sie nichts zu tun. Dann geschieht nichts.
Bestätigen Sie nicht für eine andere Person: Diese Person bekäme die
Einladungen an diese Adresse.
`,
  },

  emailAddedLetter: {
    subject: 'Eine neue Adresse Ihres Kontos auf {host}',
    text: `Guten Tag,

die Adresse
    {address}
wurde zu Ihrem Konto auf
{server} hinzugefügt. Mit einem Code, der an diese
Adresse geschickt wird, kann sich ein Gerät an Ihrem Konto anmelden. Bis Sie
dieses Gerät bestätigen, kann es nur lesen. Der Code kann das Konto nicht
zurücksetzen.

Wenn Sie das waren, brauchen Sie nichts zu tun.

Wenn Sie das nicht waren, hat eine andere Person eines Ihrer Geräte oder einen
Ihrer API-Token. Widerrufen Sie die Geräte und Token, die Sie nicht kennen:

    countersignd device list
    countersignd device revoke <das Gerät>
    countersignd token list
    countersignd token revoke <der Token>

Bitten Sie dann den Betreiber des Kontoservers, die Adresse zu entfernen. Bis
sie entfernt ist, bestätigen Sie nur Geräte, auf denen Sie sich selbst
angemeldet haben.
`,
  },

  webhookLetter: {
    subject: 'Ein Webhook wurde aufgegeben auf {host}',
    text: `Guten Tag,

Ihr Gerät {device}
auf dem Kontoserver {server}
schickt nichts mehr an den Webhook
    {name}
weil er seit dem {time} kein Ereignis angenommen hat.

Wenn sein Empfänger wieder läuft, führen Sie auf diesem Gerät den folgenden
Befehl aus. Es macht dann mit dem ersten Ereignis weiter, das nicht ankam:

    countersignd webhook update {webhook} --enable

Sie bekommen höchstens eine solche Mail in der Stunde, auch wenn mehrere
Webhooks aufgegeben werden. Alle sehen Sie mit:

    countersignd notification list

Diese Mails schalten Sie ab mit:

    countersignd preferences set --email-notifications off
`,
  },

  invitationLetter: {
    subject: 'Eine Einladung zu einer Verbindung auf {host}',
    text: `Guten Tag,

eine Person, die sich so nennt:
    {person}
lädt Sie in die Verbindung
    {connection}
ein, auf dem Countersign-Kontoserver
    {server}
{message}
Countersign ist ein Programm, das beweist, wer am Telefon ist: Wer anruft,
sagt drei Wörter, die jede Minute wechseln und die ein Fremder nicht kennt.
Wenn Sie es noch nicht haben: Die Seite unter dieser Adresse erklärt, was es
ist und wie Sie es bekommen.

Jeder kann jeden Namen benutzen. Fragen Sie diese Person, ob sie Sie
eingeladen hat, auf einem Weg, dem Sie schon vertrauen. Um zu antworten,
melden Sie sich mit dieser Adresse an jenem Server an. Sehen Sie sich dort die
Einladung an, und nehmen Sie sie an oder lehnen Sie sie ab:

    export SVC_BACKEND_URL={server}
    countersignd login --email <diese Adresse>
    countersignd invite list

Die Einladung gilt {lifetime}. Wenn Sie diese Person nicht kennen, brauchen Sie
nichts zu tun. Dann geschieht nichts.
`,
  },

  orgInvitationLetter: {
    subject: 'Eine Einladung in eine Organisation auf {host}',
    text: `Guten Tag,

eine Person, die sich so nennt:
    {person}
lädt Sie in eine Organisation ein, die so heißt:
    {organisation}
auf dem Countersign-Kontoserver
    {server}
Countersign ist ein Programm, das beweist, wer am Telefon ist. Wenn Sie es
noch nicht haben: Die Seite unter dieser Adresse erklärt, was es ist und wie
Sie es bekommen.

Jeder kann jeden Namen benutzen. Fragen Sie diese Person, ob sie Sie
eingeladen hat, auf einem Weg, dem Sie schon vertrauen. Um Mitglied zu werden,
melden Sie sich mit dieser Adresse an jenem Server an:

    export SVC_BACKEND_URL={server}
    countersignd login --email <diese Adresse>

Gehört diese Adresse schon zu einem Konto, wird es Mitglied, sobald es seine
Sitzung das nächste Mal erneuert. Die Mitglieder einer Organisation sehen die
Namen und Adressen der anderen. Sonst sehen sie nichts von dem, was Sie auf
dem Server haben.

Wenn Sie diese Person nicht kennen und dort kein Konto haben, brauchen Sie
nichts zu tun. Dann geschieht nichts.
`,
  },

  askedLetter: {
    subject: 'Bestätigen Sie Ihre Anfrage auf {host}',
    text: `Guten Tag,

eine Person, vermutlich Sie, hat diese Adresse und den Namen
    {name}
in ein Formular eingetragen, auf dem Countersign-Kontoserver
    {server}
Das Formular bittet um eine Verbindung mit einer Person, die sich so nennt:
    {owner}

Wenn Sie das waren, öffnen Sie innerhalb von {hours} diese Seite, und
bestätigen Sie dort Ihre Anfrage:

    {link}

Bis Sie bestätigen, sieht die andere Person Ihre Anfrage nicht. Jeder kann
jeden Namen benutzen, auch die andere Person.

Wenn Sie das nicht waren, brauchen Sie nichts zu tun. Dann geschieht nichts.
`,
  },

  newRequestLetter: {
    subject: 'Eine Anfrage an Sie auf {host}',
    text: `Guten Tag,

eine Person, die sich so nennt:
    {person}
bittet Sie um eine Verbindung. Die Person hat Ihren offenen Link benutzt:
    {title}
auf dem Countersign-Kontoserver
    {server}

Das Postfach ist bestätigt. Der Name ist es nicht: Jeder kann jeden Namen
benutzen. {waiting} Um Anfragen zu lesen und zu
beantworten, nehmen Sie ein Gerät, das angemeldet ist:

    countersignd link requests

Sie bekommen höchstens eine solche Mail in der Stunde, auch wenn es mehr
Anfragen gibt. Diese Mails schalten Sie ab mit:

    countersignd preferences set --email-notifications off
`,
  },

  guestCodeLetter: {
    subject: 'Ein Link für Sie auf {host}',
    text: `Guten Tag,

eine Person, die sich so nennt:
    {person}
schickt Ihnen einen Link über den Countersign-Kontoserver
    {server}
Der Link öffnet eine Seite mit drei Wörtern, die sich jede Minute ändern. Bei
einem Anruf mit dieser Person lesen Sie die Wörter vor, und die Person weiß,
dass Sie es sind. Die Seite prüft auch die Wörter der Person. Sie brauchen
kein Konto. Der Link:

    {link}

Jeder kann jeden Namen benutzen. Fragen Sie diese Person, ob sie den Link
geschickt hat, auf einem Weg, dem Sie schon vertrauen. Wer den Link hat, kann
Ihre Wörter benutzen. Geben Sie ihn nicht weiter, und löschen Sie diese Mail,
wenn Sie sie nicht mehr brauchen.

Der Link gilt bis zum {time}. Wenn Sie diese Person
nicht kennen, brauchen Sie nichts zu tun. Dann geschieht nichts.
`,
  },

  orgAlertLetter: {
    subject: 'Ein Alarm auf {host}',
    text: `Guten Tag,

der Alarm
    {alert}
der Organisation
    {organisation}
auf dem Countersign-Kontoserver
    {server}
wurde ausgelöst: Dort {happened},
mindestens {times} innerhalb von {minutes}. Die nächste Mail zu
diesem Alarm kommt frühestens nach {minutes}.

Sie bekommen diese Mail, weil ein Besitzer oder Administrator der Organisation
Sie zum Alarm hinzugefügt hat. Was geschehen ist, sehen Sie mit:

    countersignd org activity

Diese Mails schalten Sie ab mit:

    countersignd preferences set --email-notifications off
`,
  },

  alertEvents: {
    member_invited: 'wurde eine Person eingeladen',
    member_joined: 'ist ein Mitglied beigetreten',
    member_activated: 'wurde ein Mitglied aktiviert',
    member_suspended: 'wurde ein Mitglied ausgesetzt',
    member_role_changed: 'hat sich die Rolle eines Mitglieds geändert',
    member_left: 'ist ein Mitglied ausgetreten',
    group_created: 'wurde eine Gruppe angelegt',
    group_updated: 'wurde eine Gruppe geändert',
    group_deleted: 'wurde eine Gruppe gelöscht',
    group_members_added: 'wurden Mitglieder zu einer Gruppe hinzugefügt',
    group_members_removed: 'wurden Mitglieder aus einer Gruppe entfernt',
    alert_created: 'wurde ein Alarm angelegt',
    alert_updated: 'wurde ein Alarm geändert',
    alert_deleted: 'wurde ein Alarm gelöscht',
    machine_created: 'wurde ein Maschinenkonto angelegt',
    token_created: 'wurde ein Token angelegt',
    token_revoked: 'wurde ein Token widerrufen',
    connection_created: 'wurde eine Verbindung angelegt',
    verification: 'wurden Wörter geprüft und waren richtig',
    verification_failed: 'ist eine Prüfung von Wörtern fehlgeschlagen',
    stamp: 'wurde ein Stempel gemacht',
  },
})
